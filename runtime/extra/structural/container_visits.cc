// SPDX-License-Identifier: Apache-2.0
// Structural visits of containers: the elements of sequences and the values of maps.
//
// If a callback changes a List or Dict that is being visited, it is unspecified which children are
// visited.  Arrays and Maps do not change while the hook holds a reference.
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/reflection/registry.h>

#include "registration.h"
#include "walk/snapshot.h"

namespace tvm::ffi {
namespace {

using detail::CatchAsExpected;
using VisitOutcome = Expected<Optional<VisitInterrupt>>;

VisitOutcome VisitArray(StructuralVisitorObj* visitor, AnyView value) noexcept {
  Any owner(value);
  return CatchAsExpected([&]() -> VisitOutcome {
    for (const Any& element : *value.as<ArrayObj>()) {
      TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(visitor->VisitExpected(element));
    }
    return Optional<VisitInterrupt>();
  });
}

VisitOutcome VisitList(StructuralVisitorObj* visitor, AnyView value) noexcept {
  Any owner(value);
  return CatchAsExpected([&]() -> VisitOutcome {
    extra::Snapshot snapshot(owner);
    const auto* list = snapshot.Or(owner).as<ListObj>();
    for (size_t i = 0; i < list->size(); ++i) {
      // The reference is owned, because a callback may remove the element from the list.
      Any element = list->begin()[i];
      TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(visitor->VisitExpected(element));
    }
    return Optional<VisitInterrupt>();
  });
}

VisitOutcome VisitValues(StructuralVisitorObj* visitor, const MapBaseObj* table) {
  for (const auto& pair : *table) {
    TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(visitor->VisitExpected(pair.second));
  }
  return Optional<VisitInterrupt>();
}

VisitOutcome VisitMap(StructuralVisitorObj* visitor, AnyView value) noexcept {
  Any owner(value);
  return CatchAsExpected([&] { return VisitValues(visitor, value.as<MapObj>()); });
}

VisitOutcome VisitDict(StructuralVisitorObj* visitor, AnyView value) noexcept {
  return CatchAsExpected([&] {
    Any copy = extra::CopyTable(Any(value));
    return VisitValues(visitor, copy.as<DictObj>());
  });
}

}  // namespace

void extra::RegisterContainerVisits() {
  using reflection::TypeAttrDef;
  TypeAttrDef<ArrayObj>().native_fn_attr<&VisitArray>(type_attr::kStructuralVisit);
  TypeAttrDef<ListObj>().native_fn_attr<&VisitList>(type_attr::kStructuralVisit);
  TypeAttrDef<MapObj>().native_fn_attr<&VisitMap>(type_attr::kStructuralVisit);
  TypeAttrDef<DictObj>().native_fn_attr<&VisitDict>(type_attr::kStructuralVisit);
}

}  // namespace tvm::ffi
