/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel of the XLA row: y = x + 1. */
#include <tvm/ffi/extra/c_signature.h>

static const DLTensor* TensorOf(const TVMFFIAny* value) {
  return value->type_index == kTVMFFIDLTensorPtr ? (const DLTensor*)value->v_ptr
                                                 : TVMFFITensorGetDLTensorPtr(value->v_obj);
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_add_one(void* handle, const TVMFFIAny* args, int32_t num_args,
                                         TVMFFIAny* result) {
  const DLTensor* x = TensorOf(&args[0]);
  const DLTensor* y = TensorOf(&args[1]);
  int64_t i;
  (void)handle, (void)num_args, (void)result;
  for (i = 0; i < x->shape[0]; ++i) ((float*)y->data)[i] = ((const float*)x->data)[i] + 1;
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(add_one, "add_one(x: float32[n], y: out float32[n])")
