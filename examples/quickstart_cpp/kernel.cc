// SPDX-License-Identifier: Apache-2.0
// Minimal kernel in C++: add_one(x, y) computes y = x + 1 for compact float32 vectors on the CPU.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

namespace quickstart {

using tvm::ffi::TensorView;

constexpr DLDataType kFloat32 = {kDLFloat, 32, 1};

void CheckVector(const TensorView& t, const char* name) {
  TVM_FFI_CHECK_EQ(t.dtype(), kFloat32, TypeError) << "`" << name << "` must be float32";
  TVM_FFI_CHECK_EQ(t.device().device_type, kDLCPU, ValueError) << "`" << name << "` must be on CPU";
  TVM_FFI_CHECK_EQ(t.ndim(), 1, ValueError) << "`" << name << "` must be a vector";
  TVM_FFI_CHECK(t.IsContiguous(), ValueError) << "`" << name << "` must be compact";
}

float* DataOf(const TensorView& t) {
  return reinterpret_cast<float*>(static_cast<char*>(t.data_ptr()) + t.byte_offset());
}

void AddOne(TensorView x, TensorView y) {
  CheckVector(x, "x");
  CheckVector(y, "y");
  TVM_FFI_CHECK_EQ(x.size(0), y.size(0), ValueError) << "`x` and `y` must have one length";
  const float* from = DataOf(x);
  float* to = DataOf(y);
  for (int64_t i = 0; i < x.size(0); ++i) to[i] = from[i] + 1.0f;
}

}  // namespace quickstart

// The macro exports a function that converts arguments to the C++ parameter types, and C++
// exceptions to errors.
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, quickstart::AddOne);
