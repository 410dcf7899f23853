/* SPDX-License-Identifier: Apache-2.0
 *
 * A library of packed functions as a compiler emits it, with only C symbols. */
#include <stddef.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

/* Variables that the loader sets. */
TVM_FFI_DLL_EXPORT void* __tvm_ffi__library_ctx = NULL;
TVM_FFI_DLL_EXPORT void* __test_context_symbol = NULL;
TVM_FFI_DLL_EXPORT void* __test_unregistered_symbol = NULL;

static void SetInt(TVMFFIAny* result, int64_t value) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = value;
}

static void SetPointer(TVMFFIAny* result, void* pointer) {
  result->type_index = kTVMFFIOpaquePtr;
  result->zero_padding = 0;
  result->v_ptr = pointer;
}

static int SetText(const char* text, TVMFFIAny* result) {
  TVMFFIByteArray bytes;
  bytes.data = text;
  bytes.size = strlen(text);
  return TVMFFIStringFromByteArray(&bytes, result);
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_add(void* handle, const TVMFFIAny* args, int32_t num_args,
                                     TVMFFIAny* result) {
  (void)handle;
  (void)num_args;
  SetInt(result, args[0].v_int64 + args[1].v_int64);
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi__metadata_add(void* handle, const TVMFFIAny* args,
                                               int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  (void)args;
  return num_args == 0 ? SetText("{\"type_schema\":\"{}\"}", result) : -1;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi__doc_add(void* handle, const TVMFFIAny* args, int32_t num_args,
                                          TVMFFIAny* result) {
  (void)handle;
  (void)args;
  return num_args == 0 ? SetText("Adds two integers.", result) : -1;
}

/* Returns 1 if the handle argument is NULL, as the ABI requires for exported symbols. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_handle_is_null(void* handle, const TVMFFIAny* args,
                                                int32_t num_args, TVMFFIAny* result) {
  (void)args;
  (void)num_args;
  SetInt(result, handle == NULL);
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_fail(void* handle, const TVMFFIAny* args, int32_t num_args,
                                      TVMFFIAny* result) {
  (void)handle;
  (void)args;
  (void)num_args;
  (void)result;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "the kernel refuses");
  return -1;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi__doc_fail(void* handle, const TVMFFIAny* args, int32_t num_args,
                                           TVMFFIAny* result) {
  return __tvm_ffi_fail(handle, args, num_args, result);
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_library_context(void* handle, const TVMFFIAny* args,
                                                 int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  (void)args;
  (void)num_args;
  SetPointer(result, __tvm_ffi__library_ctx);
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_context_symbol(void* handle, const TVMFFIAny* args,
                                                int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  (void)args;
  (void)num_args;
  SetPointer(result, __test_context_symbol);
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_unregistered_symbol(void* handle, const TVMFFIAny* args,
                                                     int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  (void)args;
  (void)num_args;
  SetPointer(result, __test_unregistered_symbol);
  return 0;
}

/* Calls the function that the first argument names; the function is found through the imports of
 * this library. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_call_import(void* handle, const TVMFFIAny* args, int32_t num_args,
                                             TVMFFIAny* result) {
  TVMFFIObjectHandle function = NULL;
  (void)handle;
  (void)num_args;
  if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, args[0].v_c_str, &function) != 0) {
    return -1;
  }
  return TVMFFIFunctionCall(function, NULL, 0, result);
}

/* Creates an object whose deleter is in the code of this library. */
static int deletions = 0;
static void DeleteStatic(void* self, int flags) {
  (void)self;
  (void)flags;
  ++deletions;
}
static TVMFFIObject object_of_this_library;

TVM_FFI_DLL_EXPORT int __tvm_ffi_new_object(void* handle, const TVMFFIAny* args, int32_t num_args,
                                            TVMFFIAny* result) {
  (void)handle;
  (void)args;
  (void)num_args;
  object_of_this_library.combined_ref_count = TVM_FFI_REF_COUNT_INITIAL;
  object_of_this_library.type_index = kTVMFFIObject;
  object_of_this_library.deleter = &DeleteStatic;
  result->type_index = kTVMFFIObject;
  result->zero_padding = 0;
  result->v_obj = &object_of_this_library;
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_count_deletions(void* handle, const TVMFFIAny* args,
                                                 int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  (void)args;
  (void)num_args;
  SetInt(result, deletions);
  return 0;
}
