// SPDX-License-Identifier: Apache-2.0
// Structural equality and hash of big integers, shapes and tensors.
#include "structural/leaf.h"

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>

#include "content/shape_hash.h"
#include "walk/value_access.h"

namespace tvm::ffi::extra {
namespace {

bool AreExtentsEqual(ShapeView lhs, ShapeView rhs) {
  return Bytes::memequal(lhs.data(), rhs.data(), lhs.size() * sizeof(int64_t),
                         rhs.size() * sizeof(int64_t));
}

bool AreBytesEqual(TVMFFIByteArray lhs, TVMFFIByteArray rhs) {
  return Bytes::memequal(lhs.data, rhs.data, lhs.size, rhs.size);
}

// Returns the elements of a compact CPU tensor as bytes.
TVMFFIByteArray ContentOf(const Tensor& tensor) {
  size_t size = GetDataSize(tensor);
  if (size == 0) return {nullptr, 0};
  return {static_cast<const char*>(tensor.data_ptr()) + tensor.byte_offset(), size};
}

}  // namespace

bool AreBigIntsEqual(const Any& lhs, const Any& rhs) {
  return AreBytesEqual(
      TVMFFIBigIntGetContentByteArray(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(lhs)),
      TVMFFIBigIntGetContentByteArray(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(rhs)));
}

bool AreShapesEqual(const Any& lhs, const Any& rhs) {
  return AreExtentsEqual(lhs.cast<Shape>(), rhs.cast<Shape>());
}

uint64_t HashOfTensor(const Any& value, bool skip_content) {
  auto tensor = value.cast<Tensor>();
  uint64_t hash = CombineExtents(ObjectOf(value)->GetTypeKeyHash(), tensor.shape());
  TVMFFIAny dtype{};
  dtype.v_dtype = tensor.dtype();
  hash = detail::StableHashCombine(hash, dtype.v_uint64);
  if (skip_content) return hash;
  TVM_FFI_ICHECK_EQ(tensor.device().device_type, kDLCPU) << "can only hash CPU tensor";
  TVM_FFI_ICHECK(tensor.IsContiguous()) << "Can only hash contiguous tensor";
  TVMFFIByteArray content = ContentOf(tensor);
  return detail::StableHashCombine(hash, detail::StableHashBytes(content.data, content.size));
}

bool AreTensorsEqual(const Any& lhs_value, const Any& rhs_value, bool skip_content) {
  if (lhs_value.same_as(rhs_value)) return true;
  auto lhs = lhs_value.cast<Tensor>();
  auto rhs = rhs_value.cast<Tensor>();
  if (!AreExtentsEqual(lhs.shape(), rhs.shape()) || lhs.dtype() != rhs.dtype()) return false;
  if (skip_content) return true;
  TVM_FFI_ICHECK_EQ(lhs.device().device_type, kDLCPU) << "can only compare CPU tensor";
  TVM_FFI_ICHECK_EQ(rhs.device().device_type, kDLCPU) << "can only compare CPU tensor";
  TVM_FFI_ICHECK(lhs.IsContiguous()) << "Can only compare contiguous tensor";
  TVM_FFI_ICHECK(rhs.IsContiguous()) << "Can only compare contiguous tensor";
  return AreBytesEqual(ContentOf(lhs), ContentOf(rhs));
}

}  // namespace tvm::ffi::extra
