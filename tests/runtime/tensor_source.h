// SPDX-License-Identifier: Apache-2.0
// DLPack tensors of a test producer, which count the calls of their deleter.
#ifndef TVM_FFI_TESTS_RUNTIME_TENSOR_SOURCE_H_
#define TVM_FFI_TESTS_RUNTIME_TENSOR_SOURCE_H_

#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <utility>
#include <vector>

inline DLTensor* TensorOf(TVMFFIObjectHandle tensor) { return TVMFFITensorGetDLTensorPtr(tensor); }

// A producer's tensor on the stack of the test; `managed` is the struct that a producer passes.
template <typename Managed>
struct TensorSource {
  alignas(64) float elements[64] = {};
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int deletions = 0;
  Managed managed = {};

  // Strides of NULL mean a row-major tensor.
  explicit TensorSource(std::vector<int64_t> extents, std::vector<int64_t> steps = {})
      : shape(std::move(extents)), strides(std::move(steps)) {
    DLTensor& tensor = managed.dl_tensor;
    tensor.data = elements;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = shape.empty() ? nullptr : shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) {
      ++static_cast<TensorSource*>(self->manager_ctx)->deletions;
    };
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) managed.version = {1, 3};
  }
  TensorSource(const TensorSource&) = delete;
  TensorSource& operator=(const TensorSource&) = delete;

  int Import(int32_t alignment, int32_t contiguous, TVMFFIObjectHandle* out) {
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
      return TVMFFITensorFromDLPackVersioned(&managed, alignment, contiguous, out);
    } else {
      return TVMFFITensorFromDLPack(&managed, alignment, contiguous, out);
    }
  }
};

using LegacySource = TensorSource<DLManagedTensor>;
using VersionedSource = TensorSource<DLManagedTensorVersioned>;

#endif  // TVM_FFI_TESTS_RUNTIME_TENSOR_SOURCE_H_
