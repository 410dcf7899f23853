/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with embedded serialized modules, as an exporter writes it. */
#include <stddef.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

TVM_FFI_DLL_EXPORT const unsigned char __tvm_ffi__library_bin[] = {
#include "embedded_diamond.inc"
};

/* The loader of embedded modules sets this variable. */
TVM_FFI_DLL_EXPORT void* __tvm_ffi__library_ctx = NULL;

TVM_FFI_DLL_EXPORT int __tvm_ffi_library_context(void* handle, const TVMFFIAny* args,
                                                 int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  (void)args;
  (void)num_args;
  result->type_index = kTVMFFIOpaquePtr;
  result->zero_padding = 0;
  result->v_ptr = __tvm_ffi__library_ctx;
  return 0;
}

/* Calls a function that the library imports; the argument is the function's name, in the small
 * string form. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_call_import(void* handle, const TVMFFIAny* args, int32_t num_args,
                                             TVMFFIAny* result) {
  TVMFFIObjectHandle function = NULL;
  char name[8] = {0};
  (void)handle;
  (void)num_args;
  if (args[0].type_index == kTVMFFIRawStr) {
    strncpy(name, args[0].v_c_str, sizeof(name) - 1);
  } else if (args[0].type_index == kTVMFFISmallStr) {
    memcpy(name, args[0].v_bytes, args[0].small_str_len);
  }
  if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, name, &function) != 0) return -1;
  return TVMFFIFunctionCall(function, NULL, 0, result);
}
