// SPDX-License-Identifier: Apache-2.0
// Equality and order of values without children, and identity of opaque objects.
#include "content/leaf_compare.h"

#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>

#include <algorithm>
#include <cmath>

namespace tvm::ffi::extra {
namespace {

template <typename T>
int Sign(const T& lhs, const T& rhs) {
  return lhs < rhs ? -1 : (rhs < lhs ? 1 : 0);
}

bool IsInteger(const Any& value) {
  return value.type_index() == kTVMFFIInt || value.type_index() == kTVMFFIBigInt;
}

int CompareIntegers(const Any& lhs, const Any& rhs) {
  return Sign(lhs.cast<BigInt>(), rhs.cast<BigInt>());
}

// Returns kTVMFFIStr for small and heap strings, kTVMFFIBytes for small and heap bytes, and 0 for
// other types.
int32_t TextKind(const Any& value) {
  switch (value.type_index()) {
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      return kTVMFFIStr;
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      return kTVMFFIBytes;
    default:
      return 0;
  }
}

int CompareText(const Any& lhs, const Any& rhs) {
  TVMFFIByteArray l = detail::TextContent(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(lhs));
  TVMFFIByteArray r = detail::TextContent(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(rhs));
  if (Bytes::memequal(l.data, r.data, l.size, r.size)) return 0;
  return Bytes::memncmp(l.data, r.data, l.size, r.size);
}

int CompareFloats(double lhs, double rhs, CompareMode mode) {
  if (std::isnan(lhs) || std::isnan(rhs)) {
    if (mode == CompareMode::kOrder) {
      TVM_FFI_THROW(TypeError) << "cannot order values that contain NaN";
    }
    return std::isnan(lhs) && std::isnan(rhs) ? 0 : 1;
  }
  return Sign(lhs, rhs);
}

int CompareDataTypes(DLDataType lhs, DLDataType rhs) {
  if (int sign = Sign(lhs.code, rhs.code)) return sign;
  if (int sign = Sign(lhs.bits, rhs.bits)) return sign;
  return Sign(lhs.lanes, rhs.lanes);
}

int CompareDevices(DLDevice lhs, DLDevice rhs) {
  if (int sign = Sign(lhs.device_type, rhs.device_type)) return sign;
  return Sign(lhs.device_id, rhs.device_id);
}

int CompareShapes(const ShapeObj* lhs, const ShapeObj* rhs) {
  const int64_t* l = lhs->data;
  const int64_t* r = rhs->data;
  if (std::lexicographical_compare(l, l + lhs->size, r, r + rhs->size)) return -1;
  return std::lexicographical_compare(r, r + rhs->size, l, l + lhs->size) ? 1 : 0;
}

int CompareSameType(const Any& lhs, const Any& rhs, CompareMode mode) {
  const TVMFFIAny& l = *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(lhs);
  const TVMFFIAny& r = *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(rhs);
  switch (l.type_index) {
    case kTVMFFINone:
      return 0;
    case kTVMFFIInt:
    case kTVMFFIBool:
      return Sign(l.v_int64, r.v_int64);
    case kTVMFFIFloat:
      return CompareFloats(l.v_float64, r.v_float64, mode);
    case kTVMFFIDataType:
      return CompareDataTypes(l.v_dtype, r.v_dtype);
    case kTVMFFIDevice:
      return CompareDevices(l.v_device, r.v_device);
    case kTVMFFIShape:
      return CompareShapes(lhs.as<ShapeObj>(), rhs.as<ShapeObj>());
    case kTVMFFIBigInt:
      return CompareIntegers(lhs, rhs);
    default:
      break;
  }
  if (l.v_uint64 == r.v_uint64) return 0;  // pointers can be equal, but have no order
  if (mode == CompareMode::kOrder) ThrowNoOrder(l.type_index);
  return 1;
}

int CompareDifferentTypes(const Any& lhs, const Any& rhs, CompareMode mode) {
  if (mode == CompareMode::kEquality) return 1;
  if (lhs == nullptr) return -1;
  if (rhs == nullptr) return 1;
  if (IsInteger(lhs) && IsInteger(rhs)) return CompareIntegers(lhs, rhs);
  TVM_FFI_THROW(TypeError) << "Cannot compare values of different types: " << lhs.GetTypeKey()
                           << " vs " << rhs.GetTypeKey();
  TVM_FFI_UNREACHABLE();
}

bool IsSameView(const TensorObj& lhs, const TensorObj& rhs) {
  if (lhs.data != rhs.data || lhs.byte_offset != rhs.byte_offset || lhs.ndim != rhs.ndim ||
      lhs.dtype != rhs.dtype || CompareDevices(lhs.device, rhs.device) != 0) {
    return false;
  }
  if (!std::equal(lhs.shape, lhs.shape + lhs.ndim, rhs.shape)) return false;
  if (lhs.strides == nullptr || rhs.strides == nullptr) return lhs.strides == rhs.strides;
  return std::equal(lhs.strides, lhs.strides + lhs.ndim, rhs.strides);
}

}  // namespace

int CompareLeaves(const Any& lhs, const Any& rhs, CompareMode mode) {
  int32_t text_kind = TextKind(lhs);
  if (text_kind != 0 && text_kind == TextKind(rhs)) return CompareText(lhs, rhs);
  return lhs.type_index() == rhs.type_index() ? CompareSameType(lhs, rhs, mode)
                                              : CompareDifferentTypes(lhs, rhs, mode);
}

bool IsSameOpaque(const Any& lhs, const Any& rhs) {
  if (const auto* tensor = lhs.as<TensorObj>()) {
    return IsSameView(*tensor, *rhs.as<TensorObj>());
  }
  if (lhs.type_index() == kTVMFFIOpaquePyObject) {
    TVMFFIObject* l = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(lhs)->v_obj;
    TVMFFIObject* r = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(rhs)->v_obj;
    return TVMFFIOpaqueObjectGetCellPtr(l)->handle == TVMFFIOpaqueObjectGetCellPtr(r)->handle;
  }
  return lhs.same_as(rhs);
}

void ThrowNoOrder(int32_t type_index) {
  TVM_FFI_THROW(TypeError) << "Cannot order values of type " << TypeIndexToTypeKey(type_index);
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra
