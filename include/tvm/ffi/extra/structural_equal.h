// SPDX-License-Identifier: Apache-2.0
// StructuralEqual: equality of content, up to the names of variables.
//
// How objects of a type are compared is the type's TVMFFISEqHashKind; fields registered with
// SEqHashDefPattern or SEqHashDefSimple define the variables in them.  Sequences, maps, shapes and
// tensors are compared by content, in which NaN equals NaN and 0.0 differs from -0.0.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_EQUAL_H_
#define TVM_FFI_EXTRA_STRUCTURAL_EQUAL_H_

#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/reflection/access_path.h>

namespace tvm {
namespace ffi {

namespace type_attr {
// How a type compares its objects: (lhs, rhs, equal_children) -> bool.  equal_children(lhs, rhs,
// TVMFFIDefRegionKind, field name) compares two values; the region kind None leaves the region as
// it is, and the name is the step in paths to a mismatch.
inline constexpr reflection::AttrKey<TypedFunction<bool(
    const Object*, const Object*, const TypedFunction<bool(AnyView, AnyView, int, AnyView)>&)>>
    kSEqual{"__s_equal__"};
}  // namespace type_attr

// Equality by content, as TVMFFISEqHashKind says for each type.
class StructuralEqual {
 public:
  // map_free_vars         variables without a definition match any variable, consistently;
  //                       otherwise only themselves.
  // skip_tensor_content   only shape and dtype of tensors count.
  // Fails: TypeError for types without a structural kind; InternalError for tensors whose content
  // counts and that are not compact on the CPU; ValueError for nesting beyond 2^20 levels, as in a
  // List that contains itself; what a hook throws.
  TVM_FFI_EXTRA_CXX_API static bool Equal(const Any& lhs, const Any& rhs,
                                          bool map_free_vars = false,
                                          bool skip_tensor_content = false);

  // Where the values differ first, on the left and on the right; nothing when they are equal.
  TVM_FFI_EXTRA_CXX_API static Optional<reflection::AccessPathPair> GetFirstMismatch(
      const Any& lhs, const Any& rhs, bool map_free_vars = false, bool skip_tensor_content = false);

  bool operator()(const Any& lhs, const Any& rhs) const { return Equal(lhs, rhs); }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STRUCTURAL_EQUAL_H_
