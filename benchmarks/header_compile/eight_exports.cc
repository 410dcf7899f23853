// SPDX-License-Identifier: Apache-2.0
// A typical kernel library: eight exported functions with twelve arguments and six checks each.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

using tvm::ffi::TensorView;

#define DEFINE_KERNEL(name)                                                                        \
  void name(TensorView t0, TensorView t1, TensorView t2, TensorView t3, TensorView t4,             \
            TensorView t5, int64_t n0, int64_t n1, int64_t n2, double d0, double d1, double d2) {  \
    TVM_FFI_CHECK(t0.ndim() == 2, ValueError) << "t0 must have 2 dimensions";                      \
    TVM_FFI_CHECK(t1.size(0) == n0, ValueError) << "t1 has " << t1.size(0) << " rows, not " << n0; \
    TVM_FFI_ICHECK_EQ(t2.ndim(), t3.ndim());                                                       \
    TVM_FFI_ICHECK_GT(n1, 0) << "n1 must be positive";                                             \
    TVM_FFI_CHECK(t4.IsContiguous(), RuntimeError) << "t4 must be contiguous";                     \
    TVM_FFI_CHECK_LE(d0, d1, ValueError) << "empty range";                                         \
    static_cast<float*>(t5.data_ptr())[n2] = static_cast<float>(d0 + d1 + d2);                     \
  }                                                                                                \
  TVM_FFI_DLL_EXPORT_TYPED_FUNC(name, name)

DEFINE_KERNEL(kernel_0);
DEFINE_KERNEL(kernel_1);
DEFINE_KERNEL(kernel_2);
DEFINE_KERNEL(kernel_3);
DEFINE_KERNEL(kernel_4);
DEFINE_KERNEL(kernel_5);
DEFINE_KERNEL(kernel_6);
DEFINE_KERNEL(kernel_7);
