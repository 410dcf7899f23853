/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that other modules import. */
#include <tvm/ffi/c_api.h>

TVM_FFI_DLL_EXPORT int __tvm_ffi_imported(void* handle, const TVMFFIAny* args, int32_t num_args,
                                          TVMFFIAny* result) {
  (void)handle;
  (void)args;
  (void)num_args;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = 77;
  return 0;
}

/* kernel_library.c also defines this function; a library's own functions precede imported
 * functions. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_add(void* handle, const TVMFFIAny* args, int32_t num_args,
                                     TVMFFIAny* result) {
  return __tvm_ffi_imported(handle, args, num_args, result);
}
