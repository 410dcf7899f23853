// SPDX-License-Identifier: Apache-2.0
// Structural equality and hash of values without children: leaves (numbers, strings, bytes, ...),
// shapes and tensors.  Equal values have equal hashes, except small and heap Bytes of the same
// content.
#ifndef TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_LEAF_H_
#define TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_LEAF_H_

#include <tvm/ffi/any.h>

#include <cstdint>

namespace tvm::ffi::extra {

// ---- Hash and equality of leaves: plain values, text, integers ----------------------------------

inline bool IsLeaf(int32_t type_index) {
  return type_index < kTVMFFIStaticObjectBegin || type_index == kTVMFFIStr ||
         type_index == kTVMFFIBytes || type_index == kTVMFFIBigInt;
}

inline bool IsNaN(const Any& value) {
  const TVMFFIAny* data = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value);
  return data->type_index == kTVMFFIFloat && data->v_float64 != data->v_float64;
}

// Returns the hash of a leaf that is a map key.  The hash depends on the bits of the payload, so
// NaNs with different bits have different hashes.
inline uint64_t HashOfKey(const Any& leaf) {
  const TVMFFIAny* data = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(leaf);
  auto type_index = static_cast<uint64_t>(data->type_index);
  switch (data->type_index) {
    case kTVMFFISmallStr:
    case kTVMFFIStr:
    case kTVMFFIBytes:
      return AnyHash()(leaf);
    case kTVMFFIBigInt: {
      TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(data);
      return detail::StableHashCombine(type_index, detail::StableHashBytes(words.data, words.size));
    }
    default:
      return detail::StableHashCombine(type_index, data->v_uint64);
  }
}

// Returns the hash of a leaf that is not a map key: all NaNs have the same hash.
inline uint64_t HashOfLeaf(const Any& leaf) {
  constexpr uint64_t kQuietNaN = 0x7FF8000000000000;
  return IsNaN(leaf) ? detail::StableHashCombine(kTVMFFIFloat, kQuietNaN) : HashOfKey(leaf);
}

bool AreBigIntsEqual(const Any& lhs, const Any& rhs);

// Returns true if two values are equal.  At least one value must be a leaf (a value without
// children), or the types of the values must differ.
inline bool AreLeavesEqual(const Any& lhs, const Any& rhs) {
  if (lhs.type_index() == kTVMFFIBigInt && rhs.type_index() == kTVMFFIBigInt) {
    return AreBigIntsEqual(lhs, rhs);
  }
  return AnyEqual()(lhs, rhs) || (IsNaN(lhs) && IsNaN(rhs));
}

// ---- Hash and equality of shapes and tensors ----------------------------------------------------

bool AreShapesEqual(const Any& lhs, const Any& rhs);

// Fails: InternalError if skip_content is false and a tensor is not a compact CPU tensor.
uint64_t HashOfTensor(const Any& tensor, bool skip_content);
bool AreTensorsEqual(const Any& lhs_value, const Any& rhs_value, bool skip_content);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_LEAF_H_
