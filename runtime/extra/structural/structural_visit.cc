// SPDX-License-Identifier: Apache-2.0
// Registration of structural visits for all languages: the visitor types, and global functions
// whose callbacks are Functions.
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/reflection/registry.h>

#include <memory>
#include <utility>

#include "registration.h"
#include "structural/callback_arguments.h"
#include "structural/quiet_values.h"
#include "walk/stack_room.h"

namespace tvm::ffi {
namespace {

using detail::StructuralCallbackTable;
using extra::CallbackList;
using extra::QuietValues;
using extra::QuietVisitor;

// The callback that the walk calls for each value: looks up the function for the value's type.
class WalkCallback {
 public:
  WalkCallback(const CallbackList& callbacks, const CallbackList& callbacks_with_region,
               std::shared_ptr<QuietValues> quiet)
      : quiet_(std::move(quiet)) {
    table_.Add(callbacks, /*takes_more=*/false);
    table_.Add(callbacks_with_region, /*takes_more=*/true);
  }
  Expected<WalkResult> operator()(AnyView value, TVMFFIDefRegionKind region) const {
    const StructuralCallbackTable::Entry* entry = table_.Find(value);
    if (entry == nullptr) return WalkResult::Advance();
    quiet_->NoteEffect();
    if (!entry->takes_more) return entry->function.CallExpected<WalkResult>(value);
    return entry->function.CallExpected<WalkResult>(value, static_cast<int>(region));
  }

 private:
  StructuralCallbackTable table_;
  std::shared_ptr<QuietValues> quiet_;
};

class VisitCallback {
 public:
  VisitCallback(const CallbackList& callbacks, std::shared_ptr<QuietValues> quiet)
      : quiet_(std::move(quiet)) {
    table_.Add(callbacks, /*takes_more=*/false);
  }
  Expected<Optional<VisitInterrupt>> operator()(AnyView value,
                                                StructuralVisitorObj* visitor) const {
    const StructuralCallbackTable::Entry* entry = table_.Find(value);
    if (entry == nullptr) return visitor->DefaultVisitExpected(value);
    quiet_->NoteEffect();
    return entry->function.CallExpected<Optional<VisitInterrupt>>(value, visitor);
  }

 private:
  StructuralCallbackTable table_;
  std::shared_ptr<QuietValues> quiet_;
};

// Visits `root` with an engine that calls the callback.  Owns a reference to `root` during the
// visit.
template <typename Engine, typename Callback>
Optional<VisitInterrupt> VisitQuietly(AnyView root, std::shared_ptr<QuietValues> quiet,
                                      Callback callback) {
  Any owned(root);
  return make_object<QuietVisitor<Engine>>(std::move(quiet), std::move(callback))
      ->VisitExpected(owned)
      .value();
}

template <WalkOrder order>
using WalkEngine = StructuralWalkEngine<StructuralVisitorObj, order, WalkCallback>;

Optional<VisitInterrupt> WalkFrom(AnyView root, const CallbackList& callbacks,
                                  const CallbackList& callbacks_with_region, int order) {
  auto quiet = std::make_shared<QuietValues>();
  WalkCallback callback(callbacks, callbacks_with_region, quiet);
  if (extra::ToWalkOrder(order) == WalkOrder::kPreOrder) {
    return VisitQuietly<WalkEngine<WalkOrder::kPreOrder>>(root, quiet, std::move(callback));
  }
  return VisitQuietly<WalkEngine<WalkOrder::kPostOrder>>(root, quiet, std::move(callback));
}

Optional<VisitInterrupt> VisitFrom(AnyView root, const CallbackList& callbacks) {
  using Engine = StructuralVisitEngine<StructuralVisitorObj, VisitCallback>;
  auto quiet = std::make_shared<QuietValues>();
  return VisitQuietly<Engine>(root, quiet, VisitCallback(callbacks, quiet));
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
