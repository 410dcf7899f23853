// SPDX-License-Identifier: Apache-2.0
// How structural mutation descends into containers: the elements of sequences, the values of maps.
// They are copied when the first of them changes, or written to when nobody else holds them.
//
// Callbacks may change a List or Dict that is being mutated, and then it is left open what becomes
// of its elements.  Arrays and Maps do not change while the hook holds them.
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

// ---- Sequences --------------------------------------------------------------------------------

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
  Any kept(value);
  return CatchAsExpected([&] {
    extra::Snapshot snapshot(kept);
    const auto* sequence = snapshot.Or(kept).template as<SequenceObj>();
    ObjectPtr<SequenceObj> copy;
    for (size_t i = 0; i < sequence->size(); ++i) {
      Any element = sequence->begin()[i];  // a List may lose it
      MutateOutcome outcome = mutator->MutateExpected(element);
      if (outcome.is_err()) return outcome;
      UnchangedOr<Any> result = std::move(outcome).value();
      if (result.UnchangedOrSameAs(element)) continue;
      if (copy == nullptr) copy = CopyOf(sequence);
      // A List may also have grown since.
      if (i < copy->size()) {
        copy->SetItemAfterCheck(static_cast<int64_t>(i), std::move(result).ValueUnchecked());
      }
    }
    return copy != nullptr ? Replacement(std::move(copy)) : KeepUnchanged();
  });
}

// *held becomes what it turns into, or stays what it was on failure.
MutateOutcome MutateHeld(StructuralMutatorObj* mutator, Any* held) {
  MutateOutcome outcome = mutator->MutateExpected(*held, InplaceMode::kAllow);
  if (outcome.is_err()) return outcome;
  UnchangedOr<Any> result = std::move(outcome).value();
  if (!result.IsUnchanged()) *held = std::move(result).ValueUnchecked();
  return KeepUnchanged();
}

MutateOutcome MutateArrayInPlace(StructuralMutatorObj* mutator, AnyView value) noexcept {
  if (!value.as<Object>()->unique()) return MutateSequence<ArrayObj>(mutator, value);
  Any kept(value);
  return CatchAsExpected([&] {
    for (const Any& element : *value.as<ArrayObj>()) {
      MutateOutcome outcome = MutateHeld(mutator, const_cast<Any*>(&element));
      if (outcome.is_err()) return outcome;
    }
    return KeepUnchanged();
  });
}

// Elements are taken out meanwhile: so nobody else holds them, and nobody drops them.
MutateOutcome MutateListInPlace(StructuralMutatorObj* mutator, AnyView value) noexcept {
  if (!value.as<Object>()->unique()) return MutateSequence<ListObj>(mutator, value);
  Any kept(value);
  return CatchAsExpected([&] {
    auto* list = const_cast<ListObj*>(value.as<ListObj>());
    for (size_t i = 0; i < list->size(); ++i) {
      auto position = static_cast<int64_t>(i);
      Any element = list->begin()[i];
      list->SetItemAfterCheck(position, Any());
      MutateOutcome outcome = MutateHeld(mutator, &element);
      if (i < list->size()) list->SetItemAfterCheck(position, std::move(element));
      if (outcome.is_err()) return outcome;
    }
    return KeepUnchanged();
  });
}

// ---- Tables -----------------------------------------------------------------------------------

// The pair of `copy` that is the one of `from` at `position`.
MapBaseObj::iterator SamePosition(const MapBaseObj* copy, const MapBaseObj* from,
                                  MapBaseObj::iterator position) {
  MapBaseObj::iterator target = copy->begin();
  for (auto it = from->begin(); it != position; ++it) ++target;
  return target;
}

MutateOutcome MutateMap(StructuralMutatorObj* mutator, AnyView value) noexcept {
  Any kept(value);
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

// Works on a copy from the start, which callbacks do not change.
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
  Any kept(value);
  return CatchAsExpected([&] {
    for (auto& pair : *value.as<MapObj>()) {
      MutateOutcome outcome = MutateHeld(mutator, &pair.second);
      if (outcome.is_err()) return outcome;
    }
    return KeepUnchanged();
  });
}

// Values are taken out as elements of a List are, and found again by their keys.
MutateOutcome MutateDictInPlace(StructuralMutatorObj* mutator, AnyView value) noexcept {
  if (!value.as<Object>()->unique()) return MutateDict(mutator, value);
  Any kept(value);
  return CatchAsExpected([&] {
    const auto* dict = value.as<DictObj>();
    std::vector<Any> keys;
    keys.reserve(dict->size());
    for (const auto& pair : *dict) keys.push_back(pair.first);
    for (const Any& key : keys) {
      auto pair = dict->find(key);
      if (pair == dict->end()) continue;
      Any held = std::move(pair->second);
      MutateOutcome outcome = MutateHeld(mutator, &held);
      pair = dict->find(key);
      if (pair != dict->end()) pair->second = std::move(held);
      if (outcome.is_err()) return outcome;
    }
    return KeepUnchanged();
  });
}

// ---- Leaves -----------------------------------------------------------------------------------

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
