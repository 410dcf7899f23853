// SPDX-License-Identifier: Apache-2.0
// Tensor properties for checks of arguments: compactness, strides, size, address and alignment.
#ifndef TVM_FFI_RUNTIME_EXTRA_CHECKS_TENSOR_PROPERTIES_H_
#define TVM_FFI_RUNTIME_EXTRA_CHECKS_TENSOR_PROPERTIES_H_

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/container/tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tvm::ffi::extra::checks {

// Callers may pass any number of dimensions, also a negative one, which means none below.
inline bool IsEmpty(const DLTensor& tensor) {
  return std::any_of(tensor.shape, tensor.shape + std::max(tensor.ndim, 0),
                     [](int64_t extent) { return extent == 0; });
}

// Returns true if the dimensions from `free_dimensions` on are row-major without gaps; a negative
// number counts from the last dimension.  The stride of a dimension with extent 1 does not matter.
inline bool IsCompact(const DLTensor& tensor, int32_t free_dimensions = 0) {
  uint64_t step = 1;  // unsigned, because extents from callers may overflow
  if (tensor.strides == nullptr) return true;
  if (free_dimensions < 0)
    free_dimensions = std::max(std::max(tensor.ndim, 0) + free_dimensions, 0);
  for (int32_t i = tensor.ndim; i-- > free_dimensions;) {
    if (tensor.shape[i] != 1 && static_cast<uint64_t>(tensor.strides[i]) != step) {
      return IsEmpty(tensor);
    }
    step *= static_cast<uint64_t>(tensor.shape[i]);
  }
  return true;
}

// Returns true if several indices refer to one element, because a stride is 0.
inline bool HasRepeatedElements(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return false;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.strides[i] == 0 && tensor.shape[i] > 1) return !IsEmpty(tensor);
  }
  return false;
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

// Returns true if two tensors certainly share memory: if they have the same first element, or if
// both are compact and their bytes overlap.  Other tensors with gaps may be interleaved, such as
// the odd and the even elements of a vector.
inline bool Overlap(const DLTensor& a, const DLTensor& b) {
  uintptr_t first_a = AddressOf(a), first_b = AddressOf(b);
  const DLTensor& lower = first_a < first_b ? a : b;
  uint64_t distance = first_a < first_b ? first_b - first_a : first_a - first_b;
  uint64_t bits = static_cast<uint64_t>(lower.dtype.bits) * lower.dtype.lanes;
  if (distance != 0 && distance >= (static_cast<uint64_t>(SizeOf(lower)) * bits + 7) / 8) {
    return false;
  }
  bool is_same_device =
      a.device.device_type == b.device.device_type && a.device.device_id == b.device.device_id;
  if (!is_same_device || a.data == nullptr || b.data == nullptr) return false;
  // The data pointers of other devices may be handles, so only equal ones are comparable.
  if (a.data != b.data && !IsDirectAddressDevice(a.device)) return false;
  if (IsEmpty(a) || IsEmpty(b)) return false;
  return distance == 0 || (IsCompact(a) && IsCompact(b));
}

// Returns the data address modulo `alignment`, which must be a power of two.
inline uint64_t MisalignmentOf(const DLTensor& tensor, uint64_t alignment) {
  return AddressOf(tensor) & (alignment - 1);
}

constexpr uint32_t kMaxElementAlignment = 16;  // the largest result of AlignmentOf

// Returns the alignment of the C type of an element in bytes; 1 for dtypes without a C type.
inline uint32_t AlignmentOf(DLDataType dtype) {
  uint32_t bits = dtype.code == kDLComplex ? dtype.bits / 2u : dtype.bits, size = bits / 8;
  return size * 8 == bits && (size & (size - 1)) == 0 && size != 0 ? size : 1;
}

inline bool IsSame(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

}  // namespace tvm::ffi::extra::checks

#endif  // TVM_FFI_RUNTIME_EXTRA_CHECKS_TENSOR_PROPERTIES_H_
