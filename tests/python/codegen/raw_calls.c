/* SPDX-License-Identifier: Apache-2.0
 *
 * Native callers that pass values which calls from Python cannot produce.
 *
 * call_with_view(function, tensor, byte_offset, variant, rest...): call the function with a
 * DLTensor pointer as first argument.  Variant 0 passes the tensor, 1 the tensor with a NULL
 * address, 2 a NULL DLTensor pointer, 3 the tensor with the extent -2, 4 with -1 dimensions.  The
 * tensor is compact and has no strides array. */
#include <tvm/ffi/c_api.h>

TVM_FFI_DLL_EXPORT int __tvm_ffi_call_with_view(void* handle, const TVMFFIAny* args,
                                                int32_t num_args, TVMFFIAny* result) {
  TVMFFIAny passed[8];
  DLTensor tensor = *TVMFFITensorGetDLTensorPtr(args[1].v_obj);
  int64_t negative = -2;
  (void)handle;
  tensor.strides = NULL;
  tensor.byte_offset += (uint64_t)args[2].v_int64;
  if (args[3].v_int64 == 1) tensor.data = NULL;
  if (args[3].v_int64 == 3) tensor.shape = &negative;
  if (args[3].v_int64 == 4) tensor.ndim = -1;
  for (int32_t i = 4; i < num_args; ++i) passed[i - 3] = args[i];
  passed[0].type_index = kTVMFFIDLTensorPtr;
  passed[0].zero_padding = 0;
  passed[0].v_ptr = args[3].v_int64 == 2 ? NULL : &tensor;
  return TVMFFIFunctionCall(args[0].v_obj, passed, num_args - 3, result);
}

/* call_with_invalid(function, type_index): call the function with a value of this type index that
 * no language creates.  Type index 10 is an rvalue reference whose object was already moved. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_call_with_invalid(void* handle, const TVMFFIAny* args,
                                                   int32_t num_args, TVMFFIAny* result) {
  TVMFFIObjectHandle moved = NULL;
  TVMFFIAny value;
  (void)handle, (void)num_args;
  value.type_index = (int32_t)args[1].v_int64;
  value.zero_padding = 0;
  value.v_ptr = &moved;
  return TVMFFIFunctionCall(args[0].v_obj, &value, 1, result);
}

/* forward(function, rest...): call the function as native code does, ignoring its signature. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_forward(void* handle, const TVMFFIAny* args, int32_t num_args,
                                         TVMFFIAny* result) {
  (void)handle;
  return TVMFFIFunctionCall(args[0].v_obj, (TVMFFIAny*)args + 1, num_args - 1, result);
}

/* call_with_count(function, count): call the function without arguments, but with this number. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_call_with_count(void* handle, const TVMFFIAny* args,
                                                 int32_t num_args, TVMFFIAny* result) {
  (void)handle, (void)num_args;
  return TVMFFIFunctionCall(args[0].v_obj, NULL, (int32_t)args[1].v_int64, result);
}
