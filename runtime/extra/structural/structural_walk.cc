// SPDX-License-Identifier: Apache-2.0
#include "structural/structural_walk.h"

#include "walk/stack_room.h"

namespace tvm::ffi::extra {

void ThrowTooDeep() {
  TVM_FFI_THROW(ValueError) << "the value is nested deeper than " << kMaxStructuralDepth
                            << " levels, or contains itself";
  TVM_FFI_UNREACHABLE();
}

void CheckHookDepth() {
  if (TVM_FFI_PREDICT_TRUE(NativeStackRoom() != StackRoom::kLow)) return;
  TVM_FFI_THROW(ValueError) << "objects with structural hooks are nested too deep for the stack, "
                               "or contain themselves";
}

// The texts are contract, for equality as well.
void ThrowNoStructuralKind(const TypeInfo* type) {
  std::string key(type->type_key.data, type->type_key.size);
  const char* what = type->metadata == nullptr ? "Type metadata" : "_type_s_eq_hash_kind";
  TVM_FFI_THROW(TypeError) << what << " is not set for type `" << key
                           << "`, so StructuralHash is not supported for this type";
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra
