// SPDX-License-Identifier: Apache-2.0
// Error for types without a structural kind.
#include "structural/rules.h"

namespace tvm::ffi::extra {

// The error message is part of the ABI contract.  Structural equality raises the error as well,
// although the message names StructuralHash.
void ThrowNoStructuralKind(const TypeInfo* type) {
  std::string key(type->type_key.data, type->type_key.size);
  const char* missing =
      reflection::detail::MetadataOf(type) == nullptr ? "Type metadata" : "_type_s_eq_hash_kind";
  TVM_FFI_THROW(TypeError) << missing << " is not set for type `" << key
                           << "`, so StructuralHash is not supported for this type";
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra
