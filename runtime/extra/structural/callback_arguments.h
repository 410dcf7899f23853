// SPDX-License-Identifier: Apache-2.0
// Arguments of the global functions for structural visits and structural mutation: callback lists,
// walk order and definition regions.
#ifndef TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_CALLBACK_ARGUMENTS_H_
#define TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_CALLBACK_ARGUMENTS_H_

#include <tvm/ffi/extra/structural_visit.h>

namespace tvm::ffi::extra {

// The callbacks of a visit: pairs of a type index and the function to call for values of that type.
using CallbackList = Array<Tuple<int, Function>>;

inline WalkOrder ToWalkOrder(int order) {
  if (order != 0 && order != 1) {
    TVM_FFI_THROW(ValueError) << "the traversal order must be 0 (pre-order) or 1 (post-order), got "
                              << order;
  }
  return static_cast<WalkOrder>(order);
}

// Returns the definition region (role of variables) of the values that the traverser visits.
// Traverser is StructuralVisitor or StructuralMutator.
template <typename Traverser>
int DefRegionKindOf(const Traverser& traverser) {
  return traverser->def_region_kind();
}

template <typename Traverser>
Any CallInDefRegion(const Traverser& traverser, int kind, const Function& callback) {
  if (kind < kTVMFFIDefRegionKindNone || kind > kTVMFFIDefRegionKindSimple) {
    TVM_FFI_THROW(ValueError) << "the definition region kind must be 0, 1 or 2, got " << kind;
  }
  if (callback == nullptr) {
    TVM_FFI_THROW(ValueError) << "expected a function to call in the definition region, got None";
  }
  return traverser->WithDefRegionKind(static_cast<TVMFFIDefRegionKind>(kind),
                                      [&] { return callback(); });
}

// Copy hook of visitors and mutators; always throws TypeError.  A copy of the registered fields
// would lack the state of the C++ object.
inline ObjectRef RefuseCopy(const Object* object) {
  TVM_FFI_THROW(TypeError) << "Type `" << object->GetTypeKey() << "` does not support copy";
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_CALLBACK_ARGUMENTS_H_
