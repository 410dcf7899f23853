// SPDX-License-Identifier: Apache-2.0
// An object file for an in-process linker: adds one, or fails with a message.
#include <tvm/ffi/c_api.h>

extern "C" int __tvm_ffi_add_one(void*, const TVMFFIAny* args, int32_t num_args,
                                 TVMFFIAny* result) {
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "add_one takes an int");
    return -1;
  }
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = args[0].v_int64 + 1;
  return 0;
}
