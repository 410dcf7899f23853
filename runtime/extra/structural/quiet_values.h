// SPDX-License-Identifier: Apache-2.0
// QuietValues: shared values that a structural traversal need not enter again.
//
// A traversal visits a shared value once per occurrence, because each callback expects a call per
// occurrence.  In a graph of n shared objects, that may be 2^n visits.  The visit of a value is
// quiet if it called no callback and changed nothing.  A second visit of a quiet value has no
// effect, so the traversal omits it.
#ifndef TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_QUIET_VALUES_H_
#define TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_QUIET_VALUES_H_

#include <tvm/ffi/extra/structural_mutate.h>

#include <memory>
#include <utility>
#include <vector>

#include "walk/object_table.h"

namespace tvm::ffi::extra {

// The quiet values of one traversal.  Owned by the engine and by the callback that it calls.
// Threads: only one thread at a time may use it.
class QuietValues {
 public:
  // Must be called when the traversal calls a callback, which may change any value, or stores a
  // replacement of a variable.
  void NoteEffect() {
    ++num_effects_;
    if (values_.empty()) return;
    regions_ = ObjectTable<uint8_t>();
    values_.clear();
  }

  // Returns visit(), or `quiet_result` if the value is quiet in the definition region.  The value
  // becomes quiet if visit() has no effect and its result has the type index of `quiet_result`.
  template <typename Visit>
  TVMFFIAny VisitUnlessQuiet(AnyView value, TVMFFIDefRegionKind region, TVMFFIAny quiet_result,
                             Visit&& visit) {
    const Object* object = SharedObjectOf(value);
    if (object == nullptr) return visit();
    auto bit = static_cast<uint8_t>(1 << region);
    const uint8_t* known = regions_.Find(object);
    if (known != nullptr && (*known & bit) != 0) return quiet_result;
    uint64_t num_effects_before = num_effects_;
    TVMFFIAny result = visit();
    if (num_effects_ != num_effects_before || result.type_index != quiet_result.type_index) {
      return result;
    }
    known = regions_.Find(object);
    if (known == nullptr) values_.emplace_back(value);
    regions_.Set(object, static_cast<uint8_t>(bit | (known != nullptr ? *known : 0)));
    return result;
  }

 private:
  // Returns the object of a value that has several owners, else nullptr: a value with one owner
  // occurs once.
  static const Object* SharedObjectOf(AnyView value) {
    if (value.type_index() < kTVMFFIStaticObjectBegin) return nullptr;
    const auto* object = value.as<Object>();
    return object->use_count() > 1 ? object : nullptr;
  }

  uint64_t num_effects_ = 0;
  ObjectTable<uint8_t> regions_;  // bit r is set if the object is quiet in the definition region r
  std::vector<Any> values_;       // keeps the objects alive
};

// A visitor engine that omits quiet values.
template <typename Engine>
class TVM_FFI_HIDDEN_ QuietVisitor : public Engine {
 public:
  template <typename Callback>
  QuietVisitor(std::shared_ptr<QuietValues> quiet, Callback callback)
      : Engine(std::move(callback)), quiet_(std::move(quiet)), visit_(this->vtable_->visit) {
    static constexpr StructuralVisitorVTable vtable{&VisitOnce};
    this->vtable_ = &vtable;
  }

 private:
  static TVMFFIAny VisitOnce(StructuralVisitorObj* self, AnyView value) noexcept {
    auto* visitor = static_cast<QuietVisitor*>(self);
    return visitor->quiet_->VisitUnlessQuiet(value, self->def_region_kind(),
                                             AnyView().CopyToTVMFFIAny(),
                                             [&] { return visitor->visit_(self, value); });
  }

  std::shared_ptr<QuietValues> quiet_;
  FStructuralVisitABI visit_;
};

// A mutator engine that omits quiet values.
template <typename Engine>
class TVM_FFI_HIDDEN_ QuietMutator : public Engine {
 public:
  template <typename Callback>
  QuietMutator(std::shared_ptr<QuietValues> quiet, Callback callback)
      : Engine(std::move(callback)), quiet_(std::move(quiet)), base_(this->vtable_) {
    static constexpr StructuralMutatorVTable vtable{&MutateOnce<InplaceMode::kDisallow>,
                                                    &MutateOnce<InplaceMode::kAllow>,
                                                    &GetReplacement, &SetReplacement};
    this->vtable_ = &vtable;
  }

 private:
  template <InplaceMode mode>
  static TVMFFIAny MutateOnce(StructuralMutatorObj* self, AnyView value) noexcept {
    auto* mutator = static_cast<QuietMutator*>(self);
    auto mutate =
        mode == InplaceMode::kAllow ? mutator->base_->maybe_inplace_mutate : mutator->base_->mutate;
    return mutator->quiet_->VisitUnlessQuiet(
        value, self->def_region_kind(), detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(Unchanged())),
        [&] { return mutate(self, value); });
  }
  static TVMFFIAny GetReplacement(StructuralMutatorObj* self, AnyView var) noexcept {
    return static_cast<QuietMutator*>(self)->base_->var_remap_get(self, var);
  }
  static TVMFFIAny SetReplacement(StructuralMutatorObj* self, AnyView var, AnyView value) noexcept {
    auto* mutator = static_cast<QuietMutator*>(self);
    if (value.type_index() != kTVMFFIUnchanged) mutator->quiet_->NoteEffect();
    return mutator->base_->var_remap_set(self, var, value);
  }

  std::shared_ptr<QuietValues> quiet_;
  const StructuralMutatorVTable* base_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_STRUCTURAL_QUIET_VALUES_H_
