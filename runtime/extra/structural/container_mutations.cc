// SPDX-License-Identifier: Apache-2.0
// Structural mutation of containers: the elements of sequences and the values of maps.  A container
// is copied when its first child changes, or mutated in place if it has no other owner.
//
// If a callback changes a List or Dict that is being mutated, the result for its children is
// unspecified.  Arrays and Maps do not change while the hook holds a reference.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/reflection/registry.h>

#include <vector>

#include "registration.h"
#include "walk/snapshot.h"

namespace tvm::ffi {
namespace {

using detail::CatchAsExpected;
using detail::MapUnsafe;
using detail::MutateOutcome;

MutateOutcome KeepUnchanged() { return UnchangedOr<Any>(Unchanged()); }

template <typename ObjectType>
MutateOutcome Replacement(ObjectPtr<ObjectType>&& object) {
  return UnchangedOr<Any>(ObjectRef(ObjectPtr<Object>(std::move(object))));
}

// ---- Mutation of sequences --------------------------------------------------------------------

ObjectPtr<ArrayObj> CopyOf(const ArrayObj* array) {
  return ArrayObj::CopyFrom(static_cast<int64_t>(array->size()), array);
}

ObjectPtr<ListObj> CopyOf(const ListObj* list) {
  auto copy = make_object<ListObj>();
  copy->Reserve(static_cast<int64_t>(list->size()));
  copy->InitRange(0, list->begin(), list->end());
  return copy;
}

template <typename SequenceObj>
MutateOutcome MutateSequence(StructuralMutatorObj* mutator, AnyView value) noexcept {
  Any owner(value);
  return CatchAsExpected([&] {
    extra::Snapshot snapshot(owner);
    const auto* sequence = snapshot.Or(owner).template as<SequenceObj>();
    ObjectPtr<SequenceObj> copy;
    for (size_t i = 0; i < sequence->size(); ++i) {
      // The reference is owned, because a callback may remove the element from a List.
      Any element = sequence->begin()[i];
      MutateOutcome outcome = mutator->MutateExpected(element);
      if (outcome.is_err()) return outcome;
      UnchangedOr<Any> result = std::move(outcome).value();
      if (result.UnchangedOrSameAs(element)) continue;
      if (copy == nullptr) copy = CopyOf(sequence);
      // A callback may have appended to the List after the walk copied it.
      if (i < copy->size()) {
        copy->SetItemAfterCheck(static_cast<int64_t>(i), std::move(result).ValueUnchecked());
      }
    }
    return copy != nullptr ? Replacement(std::move(copy)) : KeepUnchanged();
  });
}

// Replaces *child by the result of its mutation; leaves *child unchanged if the mutation fails.
MutateOutcome MutateChild(StructuralMutatorObj* mutator, Any* child) {
  MutateOutcome outcome = mutator->MutateExpected(*child, InplaceMode::kAllow);
  if (outcome.is_err()) return outcome;
  UnchangedOr<Any> result = std::move(outcome).value();
  if (!result.IsUnchanged()) *child = std::move(result).ValueUnchecked();
  return KeepUnchanged();
}

MutateOutcome MutateArrayInPlace(StructuralMutatorObj* mutator, AnyView value) noexcept {
  if (!value.as<Object>()->unique()) return MutateSequence<ArrayObj>(mutator, value);
  Any owner(value);
  return CatchAsExpected([&] {
    for (const Any& element : *value.as<ArrayObj>()) {
      MutateOutcome outcome = MutateChild(mutator, const_cast<Any*>(&element));
      if (outcome.is_err()) return outcome;
    }
    return KeepUnchanged();
  });
}

// Moves each element out of the list while the element is mutated, so that the list does not own
// the element and callbacks cannot release it.
MutateOutcome MutateListInPlace(StructuralMutatorObj* mutator, AnyView value) noexcept {
  if (!value.as<Object>()->unique()) return MutateSequence<ListObj>(mutator, value);
  Any owner(value);
  return CatchAsExpected([&] {
    auto* list = const_cast<ListObj*>(value.as<ListObj>());
    for (size_t i = 0; i < list->size(); ++i) {
      auto position = static_cast<int64_t>(i);
      Any element = list->begin()[i];
      list->SetItemAfterCheck(position, Any());
      MutateOutcome outcome = MutateChild(mutator, &element);
      if (i < list->size()) list->SetItemAfterCheck(position, std::move(element));
      if (outcome.is_err()) return outcome;
    }
    return KeepUnchanged();
  });
}

// ---- Mutation of maps -------------------------------------------------------------------------

// Returns the iterator over `copy`, a copy of `from`, that corresponds to `position` in `from`.
MapBaseObj::iterator SamePosition(const MapBaseObj* copy, const MapBaseObj* from,
                                  MapBaseObj::iterator position) {
  MapBaseObj::iterator target = copy->begin();
  for (auto it = from->begin(); it != position; ++it) ++target;
  return target;
}

MutateOutcome MutateMap(StructuralMutatorObj* mutator, AnyView value) noexcept {
  Any owner(value);
  return CatchAsExpected([&] {
    const auto* map = value.as<MapObj>();
    ObjectPtr<MapBaseObj> copy;
    MapBaseObj::iterator target;
    for (auto it = map->begin(); it != map->end(); ++it) {
      MutateOutcome outcome = mutator->MutateExpected(it->second);
      if (outcome.is_err()) return outcome;
      UnchangedOr<Any> result = std::move(outcome).value();
      if (!result.UnchangedOrSameAs(it->second)) {
        if (copy == nullptr) {
          copy = MapUnsafe::Copy(map, kTVMFFIMap);
          target = SamePosition(copy.get(), map, it);
        }
        target->second = std::move(result).ValueUnchecked();
      }
      if (copy != nullptr) ++target;
    }
    return copy != nullptr ? Replacement(std::move(copy)) : KeepUnchanged();
  });
}

// Iterates over a copy of the Dict and mutates that copy, because callbacks may change the Dict.
MutateOutcome MutateDict(StructuralMutatorObj* mutator, AnyView value) noexcept {
  return CatchAsExpected([&] {
    Any copy = extra::CopyTable(Any(value));
    bool has_changed = false;
    for (auto& pair : *copy.as<DictObj>()) {
      MutateOutcome outcome = mutator->MutateExpected(pair.second);
      if (outcome.is_err()) return outcome;
      UnchangedOr<Any> result = std::move(outcome).value();
      if (result.UnchangedOrSameAs(pair.second)) continue;
      pair.second = std::move(result).ValueUnchecked();
      has_changed = true;
    }
    return has_changed ? MutateOutcome(UnchangedOr<Any>(std::move(copy))) : KeepUnchanged();
  });
}

MutateOutcome MutateMapInPlace(StructuralMutatorObj* mutator, AnyView value) noexcept {
  if (!value.as<Object>()->unique()) return MutateMap(mutator, value);
  Any owner(value);
  return CatchAsExpected([&] {
    for (auto& pair : *value.as<MapObj>()) {
      MutateOutcome outcome = MutateChild(mutator, &pair.second);
      if (outcome.is_err()) return outcome;
    }
    return KeepUnchanged();
  });
}

// Moves each value out of the dict while the value is mutated, as MutateListInPlace does with
// elements.  Afterwards finds the pair again by its key, because callbacks may change the dict.
MutateOutcome MutateDictInPlace(StructuralMutatorObj* mutator, AnyView value) noexcept {
  if (!value.as<Object>()->unique()) return MutateDict(mutator, value);
  Any owner(value);
  return CatchAsExpected([&] {
    const auto* dict = value.as<DictObj>();
    std::vector<Any> keys;
    keys.reserve(dict->size());
    for (const auto& pair : *dict) keys.push_back(pair.first);
    for (const Any& key : keys) {
      auto pair = dict->find(key);
      if (pair == dict->end()) continue;
      Any child = std::move(pair->second);
      MutateOutcome outcome = MutateChild(mutator, &child);
      pair = dict->find(key);
      if (pair != dict->end()) pair->second = std::move(child);
      if (outcome.is_err()) return outcome;
    }
    return KeepUnchanged();
  });
}

// ---- Mutation of leaves -----------------------------------------------------------------------

MutateOutcome KeepLeaf(StructuralMutatorObj* /*mutator*/, AnyView /*value*/) noexcept {
  return KeepUnchanged();
}

template <typename ObjectType, auto kMutate, auto kMutateInPlace>
void RegisterHooks() {
  reflection::TypeAttrDef<ObjectType>()
      .template native_fn_attr<kMutate>(type_attr::kStructuralMutate)
      .template native_fn_attr<kMutateInPlace>(type_attr::kStructuralMaybeInplaceMutate);
}

}  // namespace

void extra::RegisterContainerMutations() {
  RegisterHooks<ArrayObj, &MutateSequence<ArrayObj>, &MutateArrayInPlace>();
  RegisterHooks<ListObj, &MutateSequence<ListObj>, &MutateListInPlace>();
  RegisterHooks<MapObj, &MutateMap, &MutateMapInPlace>();
  RegisterHooks<DictObj, &MutateDict, &MutateDictInPlace>();
  RegisterHooks<detail::StringObj, &KeepLeaf, &KeepLeaf>();
  RegisterHooks<detail::BytesObj, &KeepLeaf, &KeepLeaf>();
  RegisterHooks<detail::BigIntObj, &KeepLeaf, &KeepLeaf>();
}

}  // namespace tvm::ffi
