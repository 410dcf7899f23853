// SPDX-License-Identifier: Apache-2.0
// Library of three kernels that contains their metadata: types and documentation.
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1  // required before the first header

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

namespace kernel_library {

using tvm::ffi::Optional;
using tvm::ffi::Shape;
using tvm::ffi::TensorView;

constexpr DLDataType kFloat32 = {kDLFloat, 32, 1};

// The elements of a compact float32 tensor on the CPU.  The constructor checks the tensor.
struct Elements {
  Elements(const TensorView& t, const char* name)
      : data(reinterpret_cast<float*>(static_cast<char*>(t.data_ptr()) + t.byte_offset())),
        count(t.numel()) {
    TVM_FFI_CHECK_EQ(t.dtype(), kFloat32, TypeError) << "`" << name << "` must be float32";
    TVM_FFI_CHECK_EQ(t.device().device_type, kDLCPU, ValueError)
        << "`" << name << "` must be on CPU";
    TVM_FFI_CHECK(t.IsContiguous(), ValueError) << "`" << name << "` must be compact";
  }
  float* data;
  int64_t count;
};

void Scale(TensorView x, double factor, TensorView out) {
  Elements from(x, "x");
  Elements to(out, "out");
  TVM_FFI_CHECK_EQ(from.count, to.count, ValueError) << "`x` and `out` differ in size";
  for (int64_t i = 0; i < from.count; ++i) to.data[i] = from.data[i] * static_cast<float>(factor);
}

double Sum(TensorView x, Optional<double> start) {
  Elements from(x, "x");
  double sum = start.value_or(0.0);
  for (int64_t i = 0; i < from.count; ++i) sum += static_cast<double>(from.data[i]);
  return sum;
}

int64_t Volume(Shape shape) { return shape.Product(); }

}  // namespace kernel_library

TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, kernel_library::Scale);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(scale, "Write x * factor to out, elementwise.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum, kernel_library::Sum);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(sum, "Return the sum of the elements of x, plus start.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(volume, kernel_library::Volume);
