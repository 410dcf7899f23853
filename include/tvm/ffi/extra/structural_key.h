// SPDX-License-Identifier: Apache-2.0
// StructuralKey: wraps a value for use as a map key that is compared by content.
//
// The hash is computed when the key is constructed, so the value must not change afterwards.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_KEY_H_
#define TVM_FFI_EXTRA_STRUCTURAL_KEY_H_

#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>

namespace tvm {
namespace ffi {

// Object to which a StructuralKey refers.
class StructuralKeyObj : public Object {
 public:
  Any key;
  int64_t hash_i64 = 0;  // the StructuralHash of `key`

  StructuralKeyObj() = default;
  explicit StructuralKeyObj(Any value)
      : key(std::move(value)), hash_i64(static_cast<int64_t>(StructuralHash::Hash(key))) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.StructuralKey", StructuralKeyObj, Object);
};
static_assert(sizeof(StructuralKeyObj) == 48,
              "the layout of StructuralKeyObj is part of the binary contract");

// A key that is hashed by StructuralHash and compared by StructuralEqual.
class StructuralKey : public ObjectRef {
 public:
  // Computes the structural hash of `key`.  Fails: with the errors of StructuralHash::Hash.
  explicit StructuralKey(Any key)
      : ObjectRef(ObjectPtr<Object>(make_object<StructuralKeyObj>(std::move(key)))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(StructuralKey, ObjectRef, StructuralKeyObj);

  bool operator==(const StructuralKey& other) const {
    return same_as(other) ||
           (get()->hash_i64 == other->hash_i64 && StructuralEqual::Equal(get()->key, other->key));
  }
  bool operator!=(const StructuralKey& other) const { return !(*this == other); }
};

}  // namespace ffi
}  // namespace tvm

template <>
struct std::hash<::tvm::ffi::StructuralKey> {
  std::size_t operator()(const ::tvm::ffi::StructuralKey& key) const {
    return static_cast<std::size_t>(key->hash_i64);
  }
};

#endif  // TVM_FFI_EXTRA_STRUCTURAL_KEY_H_
