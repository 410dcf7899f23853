// SPDX-License-Identifier: Apache-2.0
// StructuralHash: a hash by content; values that are equal by StructuralEqual have equal hashes.
//
// There is one exception: a Bytes value of up to 7 bytes has different hashes when it is stored in
// the TVMFFIAny itself and when it is stored in a heap object.  Programs store and exchange hashes,
// so every bit of a hash, and the exception, is part of the contract.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_HASH_H_
#define TVM_FFI_EXTRA_STRUCTURAL_HASH_H_

#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {

namespace type_attr {
// Hook that hashes an object of a type: (object, hash, hash_child) -> hash.  The argument `hash` is
// the hash of everything before the object; the result combines it with the object.
// hash_child(child, hash, TVMFFIDefRegionKind) returns `hash` combined with the hash of a child.
// The region kind None keeps the current definition region.
inline constexpr reflection::AttrKey<TypedFunction<int64_t(
    const Object*, int64_t, const TypedFunction<int64_t(AnyView, int64_t, int)>&)>>
    kSHash{"__s_hash__"};
}  // namespace type_attr

// Structural hash of values.
class StructuralHash {
 public:
  // Returns the structural hash of a value.
  //
  // map_free_vars         if true, a free variable (used without a definition) counts as defined at
  //                       its first use; if false, free variables are hashed by address.
  // skip_tensor_content   if true, hash only shape and dtype of tensors.
  // Fails: TypeError for types without a structural kind; InternalError for tensors that are not
  // compact or not on the CPU, unless skip_tensor_content is true; ValueError for more than 2^20
  // levels of nesting, such as a List that contains itself; errors of hooks.
  TVM_FFI_EXTRA_CXX_API static uint64_t Hash(const Any& value, bool map_free_vars = false,
                                             bool skip_tensor_content = false);

  uint64_t operator()(const Any& value) const { return Hash(value); }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STRUCTURAL_HASH_H_
