// SPDX-License-Identifier: Apache-2.0
// StructuralHash: a hash of content, the same for all values that StructuralEqual calls equal.
//
// Hashes are stored and exchanged: every bit is contract.  The one exception from the first
// sentence is contract, too: Bytes up to 7 bytes hash differently in their small and in their heap
// form.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_HASH_H_
#define TVM_FFI_EXTRA_STRUCTURAL_HASH_H_

#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {

namespace type_attr {
// How a type hashes its objects: (object, hash so far, hash_child) -> hash.  hash_child(value, hash
// so far, TVMFFIDefRegionKind) returns the hash so far with that of the value added to it; the
// region kind None leaves the region as it is.
inline constexpr reflection::AttrKey<TypedFunction<int64_t(
    const Object*, int64_t, const TypedFunction<int64_t(AnyView, int64_t, int)>&)>>
    kSHash{"__s_hash__"};
}  // namespace type_attr

// Hash by content that fits StructuralEqual.
class StructuralHash {
 public:
  // map_free_vars         variables that `value` uses without a definition count as defined where
  //                       they are met first; otherwise they are hashed by address.
  // skip_tensor_content   only shape and dtype of tensors count.
  // Fails: TypeError for types without a structural kind; InternalError for tensors whose content
  // counts and that are not compact on the CPU; ValueError for nesting beyond 2^20 levels, as in a
  // List that contains itself; what a hook throws.
  TVM_FFI_EXTRA_CXX_API static uint64_t Hash(const Any& value, bool map_free_vars = false,
                                             bool skip_tensor_content = false);

  uint64_t operator()(const Any& value) const { return Hash(value); }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STRUCTURAL_HASH_H_
