// SPDX-License-Identifier: Apache-2.0
// Definition regions: where in a value variables are defined rather than used.
//
// The fields of types say so.  In a Pattern region every variable is a definition, those in the
// types of variables included; in a Simple region only the variables that lie in it directly.
#ifndef TVM_FFI_EXTRA_DEF_REGION_DETAIL_H_
#define TVM_FFI_EXTRA_DEF_REGION_DETAIL_H_

#include <tvm/ffi/object.h>

namespace tvm {
namespace ffi {
namespace detail {

// What a field asks for.
inline TVMFFIDefRegionKind RegionOfField(const TVMFFIFieldInfo* field) {
  if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashDefSimple) != 0) {
    return kTVMFFIDefRegionKindSimple;
  }
  bool is_pattern = (field->flags & kTVMFFIFieldFlagBitMaskSEqHashDefPattern) != 0;
  return is_pattern ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone;
}

// The region of a part that asks for `requested`.
inline TVMFFIDefRegionKind NestedRegion(TVMFFIDefRegionKind current,
                                        TVMFFIDefRegionKind requested) {
  bool is_kept = current == kTVMFFIDefRegionKindPattern || requested == kTVMFFIDefRegionKindNone;
  return is_kept ? current : requested;
}

// The region of an object's content: a Simple region ends at the variables that it defines.
inline TVMFFIDefRegionKind ContentRegion(TVMFFIDefRegionKind region, TVMFFISEqHashKind kind) {
  bool ends = kind == kTVMFFISEqHashKindFreeVar && region == kTVMFFIDefRegionKindSimple;
  return ends ? kTVMFFIDefRegionKindNone : region;
}

// Changes the kind of region until the end of the scope, but not within a Pattern region.
class DefRegionScope {
 public:
  DefRegionScope(TVMFFIDefRegionKind* kind, TVMFFIDefRegionKind value) : kind_(kind), old_(*kind) {
    if (old_ != kTVMFFIDefRegionKindPattern) *kind = value;
  }
  ~DefRegionScope() { *kind_ = old_; }
  DefRegionScope(const DefRegionScope&) = delete;
  DefRegionScope& operator=(const DefRegionScope&) = delete;

 private:
  TVMFFIDefRegionKind* kind_;
  TVMFFIDefRegionKind old_;
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_DEF_REGION_DETAIL_H_
