// SPDX-License-Identifier: Apache-2.0
/* A library whose module imports another one, that a loader of the kind "test" makes. */
#include <stdint.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void* __tvm_ffi__library_ctx;
EXPORT void* test_context; /* a context symbol */

EXPORT const struct {
  uint64_t size;
  uint64_t num_rows, rows[3], num_children, children[1];
  uint64_t lib_size;
  char lib[4];
  char kind_size[8], kind[4];
  char payload_size[8], payload[8];
} __attribute__((packed)) __tvm_ffi__library_bin = {
    .size = sizeof(__tvm_ffi__library_bin) - 8,
    .num_rows = 3,
    .rows = {0, 1, 1},
    .num_children = 1,
    .children = {1},
    .lib_size = 4,
    .lib = "_lib",
    .kind_size = {4},
    .kind = "test",
    .payload_size = {8},
    .payload = "right.so",
};

EXPORT int __tvm_ffi_call_imported(void* handle, const TVMFFIAny* args, int32_t num_args,
                                   TVMFFIAny* result) {
  char text[8] = {0};
  TVMFFIObjectHandle function; /* borrowed from the cache of the module */
  memcpy(text, args[0].v_bytes, args[0].small_str_len);
  if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, text, &function)) return -1;
  memset(result, 0, sizeof(*result));
  return TVMFFIFunctionCall(function, (TVMFFIAny*)args + 1, num_args - 1, result);
}

EXPORT int __tvm_ffi_has_handle(void* handle, const TVMFFIAny* args, int32_t num_args,
                                TVMFFIAny* result) {
  result->type_index = kTVMFFIBool;
  result->zero_padding = 0;
  result->v_int64 = handle != NULL;
  return 0;
}

EXPORT int __tvm_ffi_context(void* handle, const TVMFFIAny* args, int32_t num_args,
                             TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = (int64_t)(intptr_t)test_context;
  return 0;
}

EXPORT int __tvm_ffi__metadata_context(void* handle, const TVMFFIAny* args, int32_t num_args,
                                       TVMFFIAny* result) {
  TVMFFIByteArray text = {"{\"type_schema\": \"{}\"}", 21};
  return TVMFFIStringFromByteArray(&text, result);
}
