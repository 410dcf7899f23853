// SPDX-License-Identifier: Apache-2.0
// Definition regions: the fields of a value in which variables are defined, not used.
//
// Flags of fields mark the regions.  In a Pattern region every variable is defined, including
// variables inside the fields of other variables.  In a Simple region only variables that are not
// inside another variable are defined.
#ifndef TVM_FFI_EXTRA_DEF_REGION_DETAIL_H_
#define TVM_FFI_EXTRA_DEF_REGION_DETAIL_H_

#include <tvm/ffi/object.h>

namespace tvm {
namespace ffi {
namespace detail {

// Returns the definition region that the flags of a field request for the field's value: none,
// Simple or Pattern (in a region, variables are definitions instead of uses).
inline TVMFFIDefRegionKind RegionOfField(const TVMFFIFieldInfo* field) {
  if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashDefSimple) != 0) {
    return kTVMFFIDefRegionKindSimple;
  }
  bool is_pattern = (field->flags & kTVMFFIFieldFlagBitMaskSEqHashDefPattern) != 0;
  return is_pattern ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone;
}

// Returns the definition region of a field's value, where `requested` is the region that the
// field's flags request and `current` is the region of the object that contains the field.
inline TVMFFIDefRegionKind NestedRegion(TVMFFIDefRegionKind current,
                                        TVMFFIDefRegionKind requested) {
  bool is_kept = current == kTVMFFIDefRegionKindPattern || requested == kTVMFFIDefRegionKindNone;
  return is_kept ? current : requested;
}

// Returns the definition region of the fields of an object whose own definition region is `region`.
// A Simple region does not extend to the fields of the variables that it defines.
inline TVMFFIDefRegionKind ContentRegion(TVMFFIDefRegionKind region, TVMFFISEqHashKind kind) {
  bool ends = kind == kTVMFFISEqHashKindFreeVar && region == kTVMFFIDefRegionKindSimple;
  return ends ? kTVMFFIDefRegionKindNone : region;
}

// Sets the definition region of a walk until the end of the scope, except within a Pattern region,
// which stays in effect.
class DefRegionScope {
 public:
  DefRegionScope(TVMFFIDefRegionKind* kind, TVMFFIDefRegionKind value)
      : kind_(kind), previous_(*kind) {
    if (previous_ != kTVMFFIDefRegionKindPattern) *kind = value;
  }
  ~DefRegionScope() { *kind_ = previous_; }
  DefRegionScope(const DefRegionScope&) = delete;
  DefRegionScope& operator=(const DefRegionScope&) = delete;

 private:
  TVMFFIDefRegionKind* kind_;
  TVMFFIDefRegionKind previous_;
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_DEF_REGION_DETAIL_H_
