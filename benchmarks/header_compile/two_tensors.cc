// SPDX-License-Identifier: Apache-2.0
// A minimal kernel: two tensors, one exported function.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

namespace kernels {

void AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    static_cast<float*>(y.data_ptr())[i] = static_cast<float*>(x.data_ptr())[i] + 1;
  }
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, kernels::AddOne);

}  // namespace kernels
