// SPDX-License-Identifier: Apache-2.0
// Rules that structural equality and structural hash share: supported types, compared fields,
// definition regions and depth limits.
#ifndef TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_RULES_H_
#define TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_RULES_H_

#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/def_region_detail.h>

#include <cstddef>

#include "walk/field_cursor.h"
#include "walk/walk_limits.h"

namespace tvm::ffi::extra {

// ---- Limits of depth and path length ----------------------------------------------------------

inline constexpr WalkLimits kStructuralLimits{
    "", kMaxDepth, "the value is nested deeper than %zu levels, or contains itself",
    "objects with structural hooks are nested too deep for the stack, or contain themselves",
    "the callback of a structural hook was called after the comparison or hash that called the "
    "hook had ended"};

// The largest number of steps of an access path.  Third-party code may release a path recursively.
inline constexpr size_t kMaxPathLength = 10000;

// ---- Supported types and compared fields --------------------------------------------------------

[[noreturn]] void ThrowNoStructuralKind(const TypeInfo* type);

// Returns the structural kind of the type (the rule by which its objects are compared and hashed).
// Throws TypeError if the type has no structural kind.
inline TVMFFISEqHashKind StructuralKindOf(const TypeInfo* type) {
  const TVMFFITypeMetadata* metadata = reflection::detail::MetadataOf(type);
  bool is_supported =
      metadata != nullptr && metadata->structural_eq_hash_kind != kTVMFFISEqHashKindUnsupported;
  if (TVM_FFI_PREDICT_FALSE(!is_supported)) ThrowNoStructuralKind(type);
  return metadata->structural_eq_hash_kind;
}

// Returns the fields that are compared and hashed.
inline FieldCursor StructuralFieldsOf(const TypeInfo* type) {
  return FieldCursor(type, kTVMFFIFieldFlagBitMaskSEqHashIgnore);
}

// ---- Definition regions -------------------------------------------------------------------------

using detail::ContentRegion;
using detail::NestedRegion;
using detail::RegionOfField;

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_RULES_H_
