/* SPDX-License-Identifier: Apache-2.0 */
/* Minimal C kernel of the build rows: triple(x) = 3 * x for ints. */
#include <tvm/ffi/c_api.h>

TVM_FFI_DLL_EXPORT int __tvm_ffi_triple(void* handle, const TVMFFIAny* args, int32_t num_args,
                                        TVMFFIAny* result) {
  (void)handle;
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "triple(x): expected an int");
    return -1;
  }
  result->type_index = kTVMFFIInt;
  result->v_int64 = 3 * args[0].v_int64;
  return 0;
}
