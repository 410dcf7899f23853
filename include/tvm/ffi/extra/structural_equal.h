// SPDX-License-Identifier: Apache-2.0
// StructuralEqual: equality by content, up to the names of bound variables.
//
// The TVMFFISEqHashKind of a type selects how its objects are compared.  Variables are defined in
// fields that are registered with SEqHashDefPattern or SEqHashDefSimple.  Sequences, maps, shapes
// and tensors are compared by content; NaN equals NaN, and 0.0 differs from -0.0.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_EQUAL_H_
#define TVM_FFI_EXTRA_STRUCTURAL_EQUAL_H_

#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/reflection/access_path.h>

namespace tvm {
namespace ffi {

namespace type_attr {
// Hook that compares two objects of a type: (lhs, rhs, equal_children) -> bool.
// equal_children(lhs, rhs, TVMFFIDefRegionKind, field name) compares two children.  The region kind
// None keeps the current definition region.  The field name becomes one step of the access path
// that is reported for a mismatch.
inline constexpr reflection::AttrKey<TypedFunction<bool(
    const Object*, const Object*, const TypedFunction<bool(AnyView, AnyView, int, AnyView)>&)>>
    kSEqual{"__s_equal__"};
}  // namespace type_attr

// Structural equality of values.
class StructuralEqual {
 public:
  // Returns true if two values are structurally equal.
  //
  // map_free_vars         if true, free variables (used without a definition) at corresponding
  //                       positions are equal, if each corresponds to the same variable at all its
  //                       uses; if false, a free variable equals only itself.
  // skip_tensor_content   if true, compare only shape and dtype of tensors.
  // Fails: TypeError for types without a structural kind; InternalError for tensors that are not
  // compact or not on the CPU, unless skip_tensor_content is true; ValueError for more than 2^20
  // levels of nesting, such as a List that contains itself; errors of hooks.
  TVM_FFI_EXTRA_CXX_API static bool Equal(const Any& lhs, const Any& rhs,
                                          bool map_free_vars = false,
                                          bool skip_tensor_content = false);

  // Returns the paths to the first mismatch in lhs and in rhs; std::nullopt if the values are
  // equal.
  TVM_FFI_EXTRA_CXX_API static Optional<reflection::AccessPathPair> GetFirstMismatch(
      const Any& lhs, const Any& rhs, bool map_free_vars = false, bool skip_tensor_content = false);

  bool operator()(const Any& lhs, const Any& rhs) const { return Equal(lhs, rhs); }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STRUCTURAL_EQUAL_H_
