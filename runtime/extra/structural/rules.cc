// SPDX-License-Identifier: Apache-2.0
#include "structural/rules.h"

namespace tvm::ffi::extra {

// The texts are contract, for equality as well.
void ThrowNoStructuralKind(const TypeInfo* type) {
  std::string key(type->type_key.data, type->type_key.size);
  const char* what =
      reflection::detail::MetadataOf(type) == nullptr ? "Type metadata" : "_type_s_eq_hash_kind";
  TVM_FFI_THROW(TypeError) << what << " is not set for type `" << key
                           << "`, so StructuralHash is not supported for this type";
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra
