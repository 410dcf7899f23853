// SPDX-License-Identifier: Apache-2.0
// Structural mutation: replacement of children of a value, in the order of a structural visit.
//
//   Any result = StructuralMap<WalkOrder::kPostOrder>(std::move(root), [](const Add& add) {
//     return Simplify(add);
//   });
//
// Shared objects are copied before they are changed; unchanged children stay shared with the
// original.  A container with only one reference is changed without a copy.  A mutator is an object
// with a vtable of four functions, whose layout and calling convention are part of the binary
// contract.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_MUTATE_H_
#define TVM_FFI_EXTRA_STRUCTURAL_MUTATE_H_

#include <tvm/ffi/extra/structural_mutate_detail.h>

#include <unordered_map>

namespace tvm {
namespace ffi {

// ---- Engines: mutators that call callbacks ----------------------------------------------------

// Base class of engines (mutators that call callbacks), with a table of variable replacements.  The
// table owns its keys, the variables, so that no other object is allocated at the address of a key.
class TVM_FFI_HIDDEN_ StructuralMapEngineBase : public StructuralMutatorObj {
 public:
  // Types of the states, which are additional arguments that an engine passes to its callbacks
  // after the value.  This class has no states.  A derived class with states defines StateTupleType
  // and StateTuple() again.
  using StateTupleType = std::tuple<>;

  explicit StructuralMapEngineBase(const StructuralMutatorVTable* vtable)
      : StructuralMutatorObj(vtable) {}

 protected:
  StateTupleType StateTuple() const noexcept { return {}; }
  static TVMFFIAny DispatchVarRemapGet(StructuralMutatorObj* self, AnyView var) noexcept {
    return detail::DispatchRemap([&]() -> Expected<Any> {
      return static_cast<StructuralMapEngineBase*>(self)->Lookup(detail::RemapKey(var));
    });
  }
  static TVMFFIAny DispatchVarRemapSet(StructuralMutatorObj* self, AnyView var,
                                       AnyView value) noexcept {
    return detail::DispatchRemap([&]() -> Expected<Any> {
      static_cast<StructuralMapEngineBase*>(self)->var_remap_[detail::RemapKey(var)] = Any(value);
      return Any();
    });
  }
  // If the outcome is an error, adds a node to the context of the error; otherwise does nothing.
  static void UpdateVisitErrorContext(const Expected<Any>& outcome, AnyView node) noexcept {
    if (outcome.is_err()) detail::RecordFailedNode(outcome.error(), node);
  }

  std::unordered_map<ObjectRef, Any, ObjectPtrHash, ObjectPtrEqual> var_remap_;

 private:
  Any Lookup(const ObjectRef& var) const {
    auto found = var_remap_.find(var);
    return found != var_remap_.end() ? found->second : Any();
  }
};

// Replaces each value by the result of the first callback that accepts the value.  The engine does
// the recursion: in pre-order it mutates the children of the replacement, in post-order it mutates
// the children of the value before it calls the callback.
// A callback takes (value[, state...][, TVMFFIDefRegionKind]), where the states are the elements of
// Parent::StateTuple.  A callback returns a value that Any can store, Unchanged, an Expected of one
// of these, or an Unexpected.
template <typename Parent, WalkOrder order, typename... Callbacks>
class TVM_FFI_HIDDEN_ StructuralMapEngine : public Parent {
  static_assert(std::is_base_of_v<StructuralMapEngineBase, Parent>,
                "Parent must derive from StructuralMapEngineBase");
  static_assert(sizeof...(Callbacks) > 0, "StructuralMap requires at least one callback");

 public:
  using StateTupleType = typename Parent::StateTupleType;

  explicit StructuralMapEngine(Callbacks... callbacks)
      : Parent(VTable()), callbacks_(std::move(callbacks)...) {}

 private:
  using Outcome = Expected<UnchangedOr<Any>>;

  static const StructuralMutatorVTable* VTable() {
    static constexpr StructuralMutatorVTable vtable{
        &MutateNode<InplaceMode::kDisallow>, &MutateNode<InplaceMode::kAllow>,
        &Parent::DispatchVarRemapGet, &Parent::DispatchVarRemapSet};
    return &vtable;
  }
  template <InplaceMode mode>
  static TVMFFIAny MutateNode(StructuralMutatorObj* self, AnyView value) noexcept {
    return detail::ExpectedUnsafe::MoveToTVMFFIAny(
        static_cast<StructuralMapEngine*>(self)->Map(value, mode));
  }
  // Calls DefaultMutateExpected of `Parent`, which may define this function again.
  Outcome Map(AnyView value, InplaceMode mode) {
    if constexpr (order == WalkOrder::kPreOrder) {
      return detail::MutateInSequence(
          value, mode, [&](AnyView node, InplaceMode) { return CallFirst(node); },
          [&](AnyView node, InplaceMode m) { return this->DefaultMutateExpected(node, m); });
    } else {
      return detail::MutateInSequence(
          value, mode,
          [&](AnyView node, InplaceMode m) { return this->DefaultMutateExpected(node, m); },
          [&](AnyView node, InplaceMode) { return CallFirst(node); });
    }
  }
  Outcome CallFirst(AnyView value) {
    Outcome outcome = UnchangedOr<Any>(Unchanged());
    auto try_each = [&](Callbacks&... callback) {
      (void)(TryCallback(callback, value, &outcome) || ...);
    };
    std::apply(try_each, callbacks_);
    return outcome;
  }
  template <typename Callback>
  bool TryCallback(Callback& callback, AnyView value, Outcome* outcome) {
    using Traits = detail::WalkCallback<Callback, StateTupleType>;
    if (!Traits::Accepts(value)) return false;
    *outcome = detail::ToMutateOutcome(
        Traits::Call(callback, value, this->StateTuple(), this->def_region_kind()));
    return true;
  }

  std::tuple<Callbacks...> callbacks_;
};

// A StructuralMapEngine whose callbacks are pairs of a type index and a Function.  The Functions in
// `callbacks` take (value), the Functions in `callbacks_with_region` take (value,
// TVMFFIDefRegionKind).
template <typename Parent, WalkOrder order>
class TVM_FFI_HIDDEN_ StructuralMapDynEngine
    : public StructuralMapEngine<Parent, order, detail::MapTableCallback> {
 public:
  StructuralMapDynEngine(const Array<Tuple<int, Function>>& callbacks,
                         const Array<Tuple<int, Function>>& callbacks_with_region)
      : StructuralMapEngine<Parent, order, detail::MapTableCallback>(
            detail::MapTableCallback(callbacks, callbacks_with_region)) {}
};

// Engine that replaces each value by the result of the first callback that accepts the value.  The
// callback does the recursion.  A callback takes (value, StructuralMutatorObj*[, InplaceMode]), or
// a Parent* as second parameter, and returns a result as for StructuralMapEngine.
template <typename Parent, typename... Callbacks>
class TVM_FFI_HIDDEN_ StructuralMutateEngine : public Parent {
  static_assert(std::is_base_of_v<StructuralMapEngineBase, Parent>,
                "Parent must derive from StructuralMapEngineBase");
  static_assert(sizeof...(Callbacks) > 0, "StructuralMutate requires at least one callback");

 public:
  explicit StructuralMutateEngine(Callbacks... callbacks)
      : Parent(VTable()), callbacks_(std::move(callbacks)...) {}

 private:
  using Outcome = Expected<UnchangedOr<Any>>;

  static const StructuralMutatorVTable* VTable() {
    static constexpr StructuralMutatorVTable vtable{
        &MutateNode<InplaceMode::kDisallow>, &MutateNode<InplaceMode::kAllow>,
        &Parent::DispatchVarRemapGet, &Parent::DispatchVarRemapSet};
    return &vtable;
  }
  template <InplaceMode mode>
  static TVMFFIAny MutateNode(StructuralMutatorObj* self, AnyView value) noexcept {
    return detail::ExpectedUnsafe::MoveToTVMFFIAny(
        detail::RunStep(value, mode, [&](AnyView node, InplaceMode m) {
          return static_cast<StructuralMutateEngine*>(self)->CallFirst(node, m);
        }));
  }
  Outcome CallFirst(AnyView value, InplaceMode mode) {
    Outcome outcome = UnchangedOr<Any>(Unchanged());
    auto try_each = [&](Callbacks&... callback) {
      return (TryCallback(callback, value, mode, &outcome) || ...);
    };
    if (std::apply(try_each, callbacks_)) return outcome;
    return this->DefaultMutateExpected(value, mode);
  }
  template <typename Callback>
  bool TryCallback(Callback& callback, AnyView value, InplaceMode mode, Outcome* outcome) {
    using Traits = detail::StructuralCallback<Callback>;
    static_assert(
        Traits::Info::num_args == 2 || Traits::Info::num_args == 3,
        "a StructuralMutate callback takes (value, StructuralMutatorObj*[, InplaceMode])");
    if (!Traits::Accepts(value)) return false;
    Parent* self = this;
    if constexpr (Traits::Info::num_args == 2) {
      *outcome = detail::ToMutateOutcome(callback(Traits::Convert(value), self));
    } else {
      *outcome = detail::ToMutateOutcome(callback(Traits::Convert(value), self, mode));
    }
    return true;
  }

  std::tuple<Callbacks...> callbacks_;
};

// ---- Functions that start a mutation ----------------------------------------------------------

// Returns `root` after the callbacks have replaced values in it: see StructuralMapEngine.  If the
// caller moves its only reference into `root`, containers are changed in place.
template <WalkOrder order, typename... Callbacks>
Expected<Any> StructuralMapExpected(Any root, Callbacks&&... callbacks) {
  using Engine = StructuralMapEngine<StructuralMapEngineBase, order, std::decay_t<Callbacks>...>;
  return detail::MutateRoot(make_object<Engine>(std::forward<Callbacks>(callbacks)...).get(),
                            std::move(root));
}
// Same as StructuralMapExpected, but throws errors.
template <WalkOrder order, typename... Callbacks>
Any StructuralMap(Any root, Callbacks&&... callbacks) {
  return StructuralMapExpected<order>(std::move(root), std::forward<Callbacks>(callbacks)...)
      .value();
}

// Same as StructuralMapExpected, but the callbacks do the recursion: see StructuralMutateEngine.
template <typename... Callbacks>
Expected<Any> StructuralMutateExpected(Any root, Callbacks&&... callbacks) {
  using Engine = StructuralMutateEngine<StructuralMapEngineBase, std::decay_t<Callbacks>...>;
  return detail::MutateRoot(make_object<Engine>(std::forward<Callbacks>(callbacks)...).get(),
                            std::move(root));
}
// Same as StructuralMutateExpected, but throws errors.
template <typename... Callbacks>
Any StructuralMutate(Any root, Callbacks&&... callbacks) {
  return StructuralMutateExpected(std::move(root), std::forward<Callbacks>(callbacks)...).value();
}

}  // namespace ffi
}  // namespace tvm

// ---- Macros for callbacks that do the recursion -----------------------------------------------

// Returns from the enclosing function with the error of `expr`, an Expected, if it has one.
#define TVM_FFI_S_MUTATE_MAYBE_EARLY_RETURN(expr)                                            \
  do {                                                                                       \
    auto&& tvm_ffi_mutate_outcome = (expr);                                                  \
    if (TVM_FFI_PREDICT_FALSE(tvm_ffi_mutate_outcome.is_err())) {                            \
      return std::forward<decltype(tvm_ffi_mutate_outcome)>(tvm_ffi_mutate_outcome).error(); \
    }                                                                                        \
  } while (false)

// Declares the variable `Type Name`, initialized with the value of an Expected.  Returns from the
// enclosing function with the Expected's error, or with a TypeError if the value is not a Type.
// Type may be an UnchangedOr.
#define TVM_FFI_S_MUTATE_ASSIGN_OR_RETURN(Type, Name, Expr)                                     \
  auto Name##_tvm_ffi_outcome = (Expr);                                                         \
  TVM_FFI_S_MUTATE_MAYBE_EARLY_RETURN(Name##_tvm_ffi_outcome);                                  \
  if (TVM_FFI_PREDICT_FALSE(!::tvm::ffi::detail::OutcomeHolds<Type>(Name##_tvm_ffi_outcome))) { \
    return TVM_FFI_UNEXPECTED(TypeError)                                                        \
           << "the result of a structural mutation is not of the declared type `" #Type "`";    \
  }                                                                                             \
  Type Name = ::tvm::ffi::detail::MoveOutOfOutcome<Type>(std::move(Name##_tvm_ffi_outcome))

// Same as TVM_FFI_S_MUTATE_ASSIGN_OR_RETURN, but does not check that the value is a Type.
#define TVM_FFI_UNSAFE_S_MUTATE_ASSIGN_OR_RETURN(Type, Name, Expr) \
  auto Name##_tvm_ffi_outcome = (Expr);                            \
  TVM_FFI_S_MUTATE_MAYBE_EARLY_RETURN(Name##_tvm_ffi_outcome);     \
  Type Name = ::tvm::ffi::detail::MoveOutOfOutcome<Type>(std::move(Name##_tvm_ffi_outcome))

#endif  // TVM_FFI_EXTRA_STRUCTURAL_MUTATE_H_
