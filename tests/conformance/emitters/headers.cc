// SPDX-License-Identifier: Apache-2.0
// Two functions that the headers of the C++ interface export.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>
namespace ffi = tvm::ffi;
void AddOne(ffi::TensorView x, ffi::TensorView y) {
  if (x.ndim() != 1 || y.ndim() != 1) TVM_FFI_THROW(ValueError) << "expected vectors";
  DLDataType f32 = DLDataType{kDLFloat, 32, 1};
  if (!(x.dtype() == f32) || !(y.dtype() == f32)) TVM_FFI_THROW(ValueError) << "expected float32";
  if (x.device().device_type != kDLCPU || y.device().device_type != kDLCPU)
    TVM_FFI_THROW(ValueError) << "expected cpu";
  if (x.size(0) != y.size(0)) TVM_FFI_THROW(ValueError) << "expected equal lengths";
  auto* in = reinterpret_cast<float*>(static_cast<char*>(x.data_ptr()) + x.byte_offset());
  auto* out = reinterpret_cast<float*>(static_cast<char*>(y.data_ptr()) + y.byte_offset());
  for (int64_t i = 0; i < x.size(0); ++i) out[i * y.stride(0)] = in[i * x.stride(0)] + 1;
}
int64_t Length(ffi::String text, ffi::Bytes more, double factor, bool twice) {
  return static_cast<int64_t>((text.size() + more.size()) * factor) * (twice ? 2 : 1);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, AddOne)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(length, Length)
