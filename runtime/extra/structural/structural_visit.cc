// SPDX-License-Identifier: Apache-2.0
// Registration of structural visits for all languages: the visitor types, and global functions
// whose callbacks are Functions.
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/reflection/registry.h>

#include "registration.h"
#include "structural/callback_arguments.h"
#include "walk/stack_room.h"

namespace tvm::ffi {
namespace {

using detail::StructuralCallbackTable;
using extra::CallbackList;

// The callback that the walk calls for each value: looks up the function for the value's type.
class WalkCallback {
 public:
  WalkCallback(const CallbackList& callbacks, const CallbackList& callbacks_with_region) {
    table_.Add(callbacks, /*takes_more=*/false);
    table_.Add(callbacks_with_region, /*takes_more=*/true);
  }
  Expected<WalkResult> operator()(AnyView value, TVMFFIDefRegionKind region) const {
    const StructuralCallbackTable::Entry* entry = table_.Find(value);
    if (entry == nullptr) return WalkResult::Advance();
    if (!entry->takes_more) return entry->function.CallExpected<WalkResult>(value);
    return entry->function.CallExpected<WalkResult>(value, static_cast<int>(region));
  }

 private:
  StructuralCallbackTable table_;
};

class VisitCallback {
 public:
  explicit VisitCallback(const CallbackList& callbacks) {
    table_.Add(callbacks, /*takes_more=*/false);
  }
  Expected<Optional<VisitInterrupt>> operator()(AnyView value,
                                                StructuralVisitorObj* visitor) const {
    const StructuralCallbackTable::Entry* entry = table_.Find(value);
    if (entry == nullptr) return visitor->DefaultVisitExpected(value);
    return entry->function.CallExpected<Optional<VisitInterrupt>>(value, visitor);
  }

 private:
  StructuralCallbackTable table_;
};

Optional<VisitInterrupt> WalkFrom(AnyView root, const CallbackList& callbacks,
                                  const CallbackList& callbacks_with_region, int order) {
  WalkCallback callback(callbacks, callbacks_with_region);
  if (extra::ToWalkOrder(order) == WalkOrder::kPreOrder) {
    return StructuralWalk<WalkOrder::kPreOrder>(root, std::move(callback));
  }
  return StructuralWalk<WalkOrder::kPostOrder>(root, std::move(callback));
}

Optional<VisitInterrupt> VisitFrom(AnyView root, const CallbackList& callbacks) {
  return StructuralVisit(root, VisitCallback(callbacks));
}

Optional<VisitInterrupt> VisitWith(const StructuralVisitor& visitor, AnyView value) {
  return visitor->Visit(value);
}

Optional<VisitInterrupt> DefaultVisitWith(const StructuralVisitor& visitor, AnyView value) {
  return visitor->DefaultVisitExpected(value).value();
}

bool NativeStackIsLow() noexcept { return extra::NativeStackRoom() == extra::StackRoom::kLow; }

}  // namespace

void extra::RegisterStructuralVisit() {
  namespace refl = reflection;
  refl::TypeAttrDef<Object>().attr(detail::kNativeStackIsLowAttr,
                                   reinterpret_cast<void*>(&NativeStackIsLow));
  refl::ObjectDef<VisitInterruptObj>(refl::init(false))
      .def_ro("value", &VisitInterruptObj::value, refl::DefaultValue(nullptr));
  refl::ObjectDef<StructuralVisitorObj>(refl::init(false))
      .def_type_attr(type_attr::kShallowCopy, &extra::RefuseCopy);
  refl::GlobalDef()
      .def("ffi.VisitInterrupt", [](const Any& value) { return VisitInterrupt(value); })
      .def("ffi.StructuralWalk", &WalkFrom)
      .def("ffi.StructuralVisit", &VisitFrom)
      .def("ffi.StructuralVisitorVisit", &VisitWith)
      .def("ffi.StructuralVisitorDefaultVisit", &DefaultVisitWith)
      .def("ffi.StructuralVisitorDefRegionKind", &extra::DefRegionKindOf<StructuralVisitor>)
      .def("ffi.StructuralVisitorWithDefRegionKind", &extra::CallInDefRegion<StructuralVisitor>);
}

}  // namespace tvm::ffi
