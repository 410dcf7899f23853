// SPDX-License-Identifier: Apache-2.0
// Tensor properties for launch plans: compactness, strides, size, address and alignment.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_TENSOR_PROPERTIES_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_TENSOR_PROPERTIES_H_

#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <cstdint>

namespace tvm::ffi::extra::cuda {

inline bool IsEmpty(const DLTensor& tensor) {
  return std::any_of(tensor.shape, tensor.shape + tensor.ndim, [](int64_t e) { return e == 0; });
}

// Returns true for a row-major tensor without gaps.  The stride of a dimension with extent 1 does
// not matter.
inline bool IsCompact(const DLTensor& tensor) {
  uint64_t step = 1;  // unsigned, because the product of extents may overflow
  if (tensor.strides == nullptr) return true;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && static_cast<uint64_t>(tensor.strides[i]) != step) {
      return IsEmpty(tensor);
    }
    step *= static_cast<uint64_t>(tensor.shape[i]);
  }
  return true;
}

inline int64_t StrideOf(const DLTensor& tensor, int32_t axis) {
  if (tensor.strides != nullptr) return tensor.strides[axis];
  uint64_t step = 1;
  for (int32_t i = tensor.ndim - 1; i > axis; --i) {
    step *= tensor.shape[i] > 1 ? static_cast<uint64_t>(tensor.shape[i]) : 1;
  }
  return static_cast<int64_t>(step);
}

inline int64_t SizeOf(const DLTensor& tensor) {
  uint64_t size = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) size *= static_cast<uint64_t>(tensor.shape[i]);
  return static_cast<int64_t>(size);
}

inline uintptr_t AddressOf(const DLTensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) + static_cast<uintptr_t>(tensor.byte_offset);
}

// Returns the data address modulo `alignment`, which must be a power of two.
inline uint64_t MisalignmentOf(const DLTensor& tensor, uint64_t alignment) {
  return AddressOf(tensor) & (alignment - 1);
}

// Returns the alignment of the C type of an element in bytes; 1 for dtypes without a C type.
inline uint32_t AlignmentOf(DLDataType dtype) {
  uint32_t bits = dtype.code == kDLComplex ? dtype.bits / 2u : dtype.bits, size = bits / 8;
  return size * 8 == bits && (size & (size - 1)) == 0 && size != 0 ? size : 1;
}

inline bool IsSame(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_TENSOR_PROPERTIES_H_
