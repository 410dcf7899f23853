// SPDX-License-Identifier: Apache-2.0
// Hash of shapes, for RecursiveHash and StructuralHash.  The hash values are part of the ABI
// contract.
#ifndef TVM_FFI_RUNTIME_EXTRA_CONTENT_SHAPE_HASH_H_
#define TVM_FFI_RUNTIME_EXTRA_CONTENT_SHAPE_HASH_H_

#include <tvm/ffi/container/shape.h>

namespace tvm::ffi::extra {

// Returns the combination of `hash`, the hash of the preceding data, with the extents of a shape.
inline uint64_t CombineExtents(uint64_t hash, ShapeView extents) {
  hash = detail::StableHashCombine(hash, extents.size());
  for (int64_t extent : extents) {
    hash = detail::StableHashCombine(hash, static_cast<uint64_t>(extent));
  }
  return hash;
}

// Returns the hash of a Shape.
inline uint64_t HashOfShape(const Any& value) {
  const auto* shape = value.as<ShapeObj>();
  return CombineExtents(shape->GetTypeKeyHash(), ShapeView(shape->data, shape->size));
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_CONTENT_SHAPE_HASH_H_
