/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls a function with a bare DLTensor in front, as callers in other languages do.
 *
 * lend(function, tensor, byte_offset, what, rest...): `what` is 0 for the tensor as it is, 1 for
 * one without memory, 2 for no tensor at all.  The tensor is compact and has no strides. */
#include <tvm/ffi/c_api.h>

TVM_FFI_DLL_EXPORT int __tvm_ffi_lend(void* handle, const TVMFFIAny* args, int32_t num_args,
                                      TVMFFIAny* result) {
  TVMFFIAny passed[8];
  DLTensor tensor = *TVMFFITensorGetDLTensorPtr(args[1].v_obj);
  (void)handle;
  tensor.strides = NULL;
  tensor.byte_offset += (uint64_t)args[2].v_int64;
  if (args[3].v_int64 == 1) tensor.data = NULL;
  for (int32_t i = 4; i < num_args; ++i) passed[i - 3] = args[i];
  passed[0].type_index = kTVMFFIDLTensorPtr;
  passed[0].zero_padding = 0;
  passed[0].v_ptr = args[3].v_int64 == 2 ? NULL : &tensor;
  return TVMFFIFunctionCall(args[0].v_obj, passed, num_args - 3, result);
}

/* pass_odd(function, type_index): call with a value that no language makes; type index 10, of what
 * is moved, comes with an object that was moved away before. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_pass_odd(void* handle, const TVMFFIAny* args, int32_t num_args,
                                          TVMFFIAny* result) {
  TVMFFIObjectHandle nothing = NULL;
  TVMFFIAny odd;
  (void)handle, (void)num_args;
  odd.type_index = (int32_t)args[1].v_int64;
  odd.zero_padding = 0;
  odd.v_ptr = &nothing;
  return TVMFFIFunctionCall(args[0].v_obj, &odd, 1, result);
}

/* pass_on(function, rest...): call a function as native code does, whatever it says of itself. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_pass_on(void* handle, const TVMFFIAny* args, int32_t num_args,
                                         TVMFFIAny* result) {
  (void)handle;
  return TVMFFIFunctionCall(args[0].v_obj, (TVMFFIAny*)args + 1, num_args - 1, result);
}
