// SPDX-License-Identifier: Apache-2.0
// What structural equality and structural hash have to agree on: which types take part, which
// fields count, where variables are defined, and how deep values may be nested.
//
// Both walk with a stack of their own, so that nesting costs no machine stack.
#ifndef TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_STRUCTURAL_WALK_H_
#define TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_STRUCTURAL_WALK_H_

#include <tvm/ffi/container/map_base.h>
#include <tvm/ffi/container/seq_base.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/def_region_detail.h>
#include <tvm/ffi/reflection/accessor.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace tvm::ffi::extra {

// ---- Limits -----------------------------------------------------------------------------------

// Levels of nesting; the same as in recursive comparison.
inline constexpr size_t kMaxStructuralDepth = size_t{1} << 20;
// Steps of an access path, which is released step by step on the machine stack.
inline constexpr size_t kMaxPathLength = 10000;

[[noreturn]] void ThrowTooDeep();

// Called before a level is added.
inline void CheckStructuralDepth(size_t depth) {
  if (TVM_FFI_PREDICT_FALSE(depth >= kMaxStructuralDepth)) ThrowTooDeep();
}
// Called before a hook.
void CheckHookDepth();

// ---- Types and fields ---------------------------------------------------------------------------

[[noreturn]] void ThrowNoStructuralKind(const TypeInfo* type);

// TypeError for a type that has no structural kind.
inline TVMFFISEqHashKind StructuralKindOf(const TypeInfo* type) {
  bool is_supported = type->metadata != nullptr &&
                      type->metadata->structural_eq_hash_kind != kTVMFFISEqHashKindUnsupported;
  if (TVM_FFI_PREDICT_FALSE(!is_supported)) ThrowNoStructuralKind(type);
  return type->metadata->structural_eq_hash_kind;
}

// Goes through the fields that count, the ancestors' first.
class FieldCursor {
 public:
  // nullptr behind the last field.
  const TVMFFIFieldInfo* Next(const TypeInfo* type) {
    ++index_;
    for (; depth_ <= type->type_depth; ++depth_, index_ = 0) {
      const TypeInfo* owner = OwnerIn(type);
      for (; index_ < owner->num_fields; ++index_) {
        const TVMFFIFieldInfo* field = owner->fields + index_;
        if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) == 0) return field;
      }
    }
    return nullptr;
  }
  // The field that Next returned last.  Arrays of fields move when more are registered.
  const TVMFFIFieldInfo* Current(const TypeInfo* type) const {
    return OwnerIn(type)->fields + index_;
  }

 private:
  const TypeInfo* OwnerIn(const TypeInfo* type) const {
    return depth_ < type->type_depth ? type->type_ancestors[depth_] : type;
  }

  int32_t depth_ = 1;  // of the field's owner; ffi.Object, at depth 0, has no fields
  int32_t index_ = -1;
};

// ---- Definition regions -------------------------------------------------------------------------

using detail::ContentRegion;
using detail::NestedRegion;
using detail::RegionOfField;

// ---- Values -------------------------------------------------------------------------------------

inline const Object* ObjectOf(const Any& value) {
  return detail::AnyUnsafe::RawObjectPtrFromAnyAfterCheck<Object>(value);
}

// What a getter makes anew lives only as long as the result.
inline Any ValueOfField(const Any& object, const TVMFFIFieldInfo* field) {
  return reflection::FieldGetter(field)(ObjectOf(object));
}

inline const SeqBaseObj* ItemsOf(const Any& sequence) {
  return detail::AnyUnsafe::RawObjectPtrFromAnyAfterCheck<SeqBaseObj>(sequence);
}

inline const MapBaseObj* TableOf(const Any& map) {
  return detail::AnyUnsafe::RawObjectPtrFromAnyAfterCheck<MapBaseObj>(map);
}

// ---- Hooks --------------------------------------------------------------------------------------

// Lends a walk to the callback that hooks receive, who may keep that for longer than the walk
// lasts.
template <typename Walk>
class WalkLoan {
 public:
  WalkLoan() = default;
  WalkLoan(const WalkLoan&) = delete;
  WalkLoan& operator=(const WalkLoan&) = delete;
  ~WalkLoan() {
    if (walk_ != nullptr) *walk_ = nullptr;
  }

  class Borrower {
   public:
    explicit Borrower(std::shared_ptr<Walk*> walk) : walk_(std::move(walk)) {}
    Walk* operator->() const {
      if (*walk_ == nullptr) {
        TVM_FFI_THROW(RuntimeError) << "the callback of a structural hook was called after the "
                                       "comparison or hash that it belonged to";
      }
      return *walk_;
    }

   private:
    std::shared_ptr<Walk*> walk_;
  };

  // At most once.
  Borrower Lend(Walk* walk) {
    walk_ = std::make_shared<Walk*>(walk);
    return Borrower(walk_);
  }

 private:
  std::shared_ptr<Walk*> walk_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_STRUCTURAL_WALK_H_
