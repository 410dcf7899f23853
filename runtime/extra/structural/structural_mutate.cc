// SPDX-License-Identifier: Apache-2.0
// Registration of structural mutation for all languages: the mutator type, and global functions
// whose callbacks are Functions.
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/reflection/registry.h>

#include <memory>
#include <utility>

#include "registration.h"
#include "structural/callback_arguments.h"
#include "structural/quiet_values.h"

namespace tvm::ffi {
namespace {

using detail::StructuralCallbackTable;
using extra::CallbackList;
using extra::QuietMutator;
using extra::QuietValues;

// The callbacks of a mutation: triples of a type index, the function to call for values of that
// type, and true if the function takes the in-place mode as an argument.
using MutateCallbackList = Array<Tuple<int, Function, bool>>;

// The callback that the map calls for each value: looks up the function for the value's type.
class MapCallback {
 public:
  MapCallback(const CallbackList& callbacks, const CallbackList& callbacks_with_region,
              std::shared_ptr<QuietValues> quiet)
      : quiet_(std::move(quiet)) {
    table_.Add(callbacks, /*takes_more=*/false);
    table_.Add(callbacks_with_region, /*takes_more=*/true);
  }
  Expected<Any> operator()(AnyView value, TVMFFIDefRegionKind region) const {
    const StructuralCallbackTable::Entry* entry = table_.Find(value);
    if (entry == nullptr) return Any(Unchanged());
    quiet_->NoteEffect();
    if (!entry->takes_more) return entry->function.CallExpected<Any>(value);
    return entry->function.CallExpected<Any>(value, static_cast<int>(region));
  }

 private:
  StructuralCallbackTable table_;
  std::shared_ptr<QuietValues> quiet_;
};

// The callback that the mutation calls for each value: looks up the function for the value's type.
class MutateCallback {
 public:
  MutateCallback(const MutateCallbackList& callbacks, std::shared_ptr<QuietValues> quiet)
      : quiet_(std::move(quiet)) {
    for (const auto& callback : callbacks) {
      table_.Add(callback.get<0>(), callback.get<1>(), /*takes_more=*/callback.get<2>());
    }
  }
  Expected<UnchangedOr<Any>> operator()(AnyView value, StructuralMutatorObj* mutator,
                                        InplaceMode mode) const {
    const StructuralCallbackTable::Entry* entry = table_.Find(value);
    if (entry == nullptr) return detail::DefaultMutate(mutator, value, mode);
    quiet_->NoteEffect();
    if (!entry->takes_more) {
      return detail::ToMutateOutcome(entry->function.CallExpected<Any>(value, mutator));
    }
    return detail::ToMutateOutcome(
        entry->function.CallExpected<Any>(value, mutator, static_cast<int>(mode)));
  }

 private:
  StructuralCallbackTable table_;
  std::shared_ptr<QuietValues> quiet_;
};

// Mutates `root` with an engine that calls the callback.
template <typename Engine, typename Callback>
Any MutateQuietly(Any root, std::shared_ptr<QuietValues> quiet, Callback callback) {
  auto engine = make_object<QuietMutator<Engine>>(std::move(quiet), std::move(callback));
  return detail::MutateRoot(engine.get(), std::move(root)).value();
}

template <WalkOrder order>
Any MapInOrder(Any root, const CallbackList& callbacks, const CallbackList& callbacks_with_region) {
  using Engine = StructuralMapEngine<StructuralMapEngineBase, order, MapCallback>;
  auto quiet = std::make_shared<QuietValues>();
  MapCallback callback(callbacks, callbacks_with_region, quiet);
  return MutateQuietly<Engine>(std::move(root), std::move(quiet), std::move(callback));
}

Any MapFrom(Any root, const CallbackList& callbacks, const CallbackList& callbacks_with_region,
            int order) {
  return extra::ToWalkOrder(order) == WalkOrder::kPreOrder
             ? MapInOrder<WalkOrder::kPreOrder>(std::move(root), callbacks, callbacks_with_region)
             : MapInOrder<WalkOrder::kPostOrder>(std::move(root), callbacks, callbacks_with_region);
}

Any MutateFrom(Any root, const MutateCallbackList& callbacks) {
  using Engine = StructuralMutateEngine<StructuralMapEngineBase, MutateCallback>;
  auto quiet = std::make_shared<QuietValues>();
  return MutateQuietly<Engine>(std::move(root), quiet, MutateCallback(callbacks, quiet));
}

Any MutateWith(const StructuralMutator& mutator, const Any& value) {
  return mutator->Mutate(value).ValueOrUnchanged(value);
}

Any DefaultMutateWith(const StructuralMutator& mutator, const Any& value) {
  return mutator->DefaultMutateExpected(value).value().ValueOrUnchanged(value);
}

}  // namespace

void extra::RegisterStructuralMutate() {
  namespace refl = reflection;
  refl::ObjectDef<StructuralMutatorObj>(refl::init(false))
      .def_type_attr(type_attr::kShallowCopy, &extra::RefuseCopy);
  refl::GlobalDef()
      .def("ffi.StructuralMap", &MapFrom)
      .def("ffi.StructuralMutate", &MutateFrom)
      .def("ffi.StructuralMutatorMutate", &MutateWith)
      .def("ffi.StructuralMutatorDefaultMutate", &DefaultMutateWith)
      .def("ffi.StructuralMutatorVarRemapGet",
           [](const StructuralMutator& mutator, AnyView var) {
             return mutator->VarRemapGetExpected(var).value();
           })
      .def("ffi.StructuralMutatorVarRemapSet",
           [](const StructuralMutator& mutator, AnyView var, AnyView value) {
             mutator->VarRemapSetExpected(var, value).value();
           })
      .def("ffi.StructuralMutatorDefRegionKind", &extra::DefRegionKindOf<StructuralMutator>)
      .def("ffi.StructuralMutatorWithDefRegionKind", &extra::CallInDefRegion<StructuralMutator>);
}

}  // namespace tvm::ffi
