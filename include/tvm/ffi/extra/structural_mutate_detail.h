// SPDX-License-Identifier: Apache-2.0
// Part of structural_mutate.h: mutators, their default recursion, and functions for engines.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_MUTATE_DETAIL_H_
#define TVM_FFI_EXTRA_STRUCTURAL_MUTATE_DETAIL_H_

#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/extra/unchanged_detail.h>

namespace tvm {
namespace ffi {

// Mode of a mutation: kAllow permits changing the object itself; kDisallow requires changing a copy
// of the object.
enum class InplaceMode : int { kDisallow = 0, kAllow = 1 };

class StructuralMutatorObj;

// Function types of a mutator's vtable.  Each function returns an owned value, or an Error on
// failure.
using FStructuralMutateABI = TVMFFIAny (*)(StructuralMutatorObj* mutator, AnyView value) noexcept;
using FStructuralVarRemapGet = TVMFFIAny (*)(StructuralMutatorObj* mutator, AnyView var) noexcept;
using FStructuralVarRemapSet = TVMFFIAny (*)(StructuralMutatorObj* mutator, AnyView var,
                                             AnyView value) noexcept;

// Vtable of a mutator.  The order of the functions must not change, because other libraries are
// compiled against it.
struct StructuralMutatorVTable {
  // Returns the mutated value, or Unchanged if the mutation does not change the value.
  FStructuralMutateABI mutate;
  // Same as mutate, but may change the object instead of a copy, because the caller has the only
  // reference to it.
  FStructuralMutateABI maybe_inplace_mutate;
  // Returns the replacement that var_remap_set stored last for a variable; None if no replacement
  // is stored.
  FStructuralVarRemapGet var_remap_get;
  // Stores the replacement of a variable; returns None.
  FStructuralVarRemapSet var_remap_set;
};

// Function that a type registers to mutate the children of its values: see
// type_attr::kStructuralMutate.
using FStructuralMutate =
    reflection::NativeFunctionView<UnchangedOr<Any>(StructuralMutatorObj*, AnyView)>;

// Base class of mutators; a derived class defines a vtable.  Threads: only one thread at a time may
// use a mutator.
class StructuralMutatorObj : public Object {
 public:
  using MutatorObjType = StructuralMutatorObj;

  // Mutates a value with this mutator's vtable.  The object is changed without a copy only if
  // `mode` is kAllow and the caller has the only reference to it.
  UnchangedOr<Any> Mutate(AnyView value, InplaceMode mode = InplaceMode::kDisallow) {
    return MutateExpected(value, mode).value();
  }
  Expected<UnchangedOr<Any>> MutateExpected(AnyView value,
                                            InplaceMode mode = InplaceMode::kDisallow);
  // Mutates the children of a value: calls the hook of the value's type, or mutates the fields of
  // the value if the type has no hook.  Mutator functions call this function for the default
  // recursion.  Values that are not objects are returned unchanged.
  Expected<UnchangedOr<Any>> DefaultMutateExpected(AnyView value,
                                                   InplaceMode mode = InplaceMode::kDisallow);

  // Get or set the replacement of a variable or shared node.  All uses of the variable or node get
  // the same replacement.  The replacement is None if no replacement was set, and Unchanged if the
  // variable stays as it is.  Fails: TypeError if `var` is not an object.
  Expected<Any> VarRemapGetExpected(AnyView var);
  Expected<void> VarRemapSetExpected(AnyView var, AnyView value);

  // Get the definition region, or change it during a callback: see the functions of the same names
  // in StructuralVisitorObj.
  TVMFFIDefRegionKind def_region_kind() const { return def_region_mode_; }
  template <typename Callback>
  decltype(auto) WithDefRegionKind(TVMFFIDefRegionKind kind, Callback&& callback) {
    detail::DefRegionScope scope(&def_region_mode_, kind);
    return std::forward<Callback>(callback)();
  }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("ffi.StructuralMutator", StructuralMutatorObj, Object);

 protected:
  explicit StructuralMutatorObj(const StructuralMutatorVTable* vtable) : vtable_(vtable) {}
  // Protected to prevent slicing: the vtable's functions expect the derived class.
  StructuralMutatorObj(const StructuralMutatorObj&) = default;
  StructuralMutatorObj& operator=(const StructuralMutatorObj&) = default;

  const StructuralMutatorVTable* vtable_;
  TVMFFIDefRegionKind def_region_mode_ = kTVMFFIDefRegionKindNone;
};

static_assert(sizeof(void*) < 8 || sizeof(StructuralMutatorObj) == 40,
              "the layout of StructuralMutatorObj is part of the binary contract");

// Reference to a StructuralMutatorObj.
class StructuralMutator : public ObjectRef {
 public:
  explicit StructuralMutator(ObjectPtr<StructuralMutatorObj> mutator)
      : ObjectRef(ObjectPtr<Object>(std::move(mutator))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(StructuralMutator, ObjectRef, StructuralMutatorObj);
};

namespace type_attr {
// Hooks (functions that a type registers) that mutate a value by calling mutator->MutateExpected
// for its children.  If there is no other reference to the value and the type defines
// kStructuralMaybeInplaceMutate, that hook is called; it may change the value without a copy.
// Otherwise kStructuralMutate is called.
inline constexpr reflection::AttrKey<FStructuralMutate> kStructuralMutate{"__s_mutate__"};
inline constexpr reflection::AttrKey<FStructuralMutate> kStructuralMaybeInplaceMutate{
    "__s_maybe_inplace_mutate__"};
}  // namespace type_attr

namespace detail {

using MutateOutcome = Expected<UnchangedOr<Any>>;

// Converts the result of a mutate function to a MutateOutcome.  An Error becomes a failure, a value
// of type index kTVMFFIUnchanged becomes Unchanged, and any other value is the mutated value.
inline MutateOutcome TakeMutateOutcome(TVMFFIAny raw) {
  return ExpectedUnsafe::MoveFromTVMFFIAny<UnchangedOr<Any>>(raw);
}

// Converts the result of a callback or hook to a MutateOutcome.
template <typename R>
MutateOutcome ToMutateOutcome(R result) {
  if constexpr (is_unexpected_v<R>) {
    return Error(std::move(result).error());
  } else if constexpr (is_expected_v<R>) {
    return TakeMutateOutcome(ExpectedUnsafe::MoveToTVMFFIAny(std::move(result)));
  } else {
    return TakeMutateOutcome(AnyUnsafe::MoveAnyToTVMFFIAny(Any(std::move(result))));
  }
}

// ---- Mutation hooks of types ------------------------------------------------------------------

// Returns the "__s_mutate__" hook of a type; nullptr if the type has none.
TVM_FFI_HIDDEN_ inline const TVMFFIAny* FindMutateHook(int32_t type_index) {
  static const TVMFFITypeAttrColumn* column;
  return FindAttrIn(&column, type_attr::kStructuralMutate.name, type_index);
}
TVM_FFI_HIDDEN_ inline const TVMFFIAny* FindInplaceHook(int32_t type_index) {
  static const TVMFFITypeAttrColumn* column;
  return FindAttrIn(&column, type_attr::kStructuralMaybeInplaceMutate.name, type_index);
}

inline MutateOutcome CallMutateHook(const TVMFFIAny* hook, const char* name,
                                    StructuralMutatorObj* mutator, AnyView value) {
  if (TVM_FFI_PREDICT_TRUE(hook->type_index == kTVMFFIOpaquePtr)) {
    return TakeMutateOutcome(reinterpret_cast<FStructuralMutateABI>(hook->v_ptr)(mutator, value));
  }
  if (hook->type_index == kTVMFFIFunction) {
    return ToMutateOutcome(
        AnyView::CopyFromTVMFFIAny(*hook).cast<Function>().CallExpected<Any>(mutator, value));
  }
  return StructuralTypeError(std::string(name) +
                             " must be an opaque function pointer or ffi.Function");
}

// ---- Mutation of fields -----------------------------------------------------------------------

// Returns a shallow copy of an object.  Checks that the copy has the type of the original, because
// the caller writes to the copy at the field offsets of that type.
inline ObjectRef CopyShallowly(AnyView value) {
  static const TVMFFITypeAttrColumn* column;
  const TVMFFIAny* copy = FindAttrIn(&column, type_attr::kShallowCopy.name, value.type_index());
  if (copy == nullptr || copy->type_index != kTVMFFIFunction) {
    throw StructuralTypeError("__ffi_shallow_copy__ must be an ffi.Function");
  }
  Any result = AnyView::CopyFromTVMFFIAny(*copy).cast<Function>()(value);
  if (result.type_index() != value.type_index() || result.as<Object>() == value.as<Object>()) {
    throw StructuralTypeError("__ffi_shallow_copy__ must return a new object of the same type");
  }
  return std::move(result).cast<ObjectRef>();
}

inline void SetChangedField(const ObjectRef& object, const TypeInfo* type,
                            const TVMFFIFieldInfo* field, const Any& value) {
  if (field->setter == nullptr) {
    throw StructuralTypeError("Cannot structurally mutate field `" +
                              std::string(reflection::detail::TextOf(field->name)) + "` of type `" +
                              std::string(reflection::detail::TextOf(type->type_key)) +
                              "` because it does not define a setter");
  }
  reflection::FieldSetter set(field);
  set(object, value);
}

// Mutates the fields of an object.  Copies the object when the first field changes.
inline MutateOutcome MutateFields(StructuralMutatorObj* mutator, AnyView value,
                                  const TypeInfo* type) {
  ObjectRef copy;
  MutateOutcome failure = UnchangedOr<Any>(Unchanged());
  auto mutate_field = [&](const TVMFFIFieldInfo* field) {
    if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) != 0) return false;
    Any old = reflection::FieldGetter(field)(value.as<Object>());
    TVMFFIDefRegionKind region = NestedRegion(mutator->def_region_kind(), RegionOfField(field));
    MutateOutcome outcome =
        mutator->WithDefRegionKind(region, [&] { return mutator->MutateExpected(old); });
    if (outcome.is_err()) {
      failure = std::move(outcome);
      return true;
    }
    UnchangedOr<Any> result = std::move(outcome).value();
    if (result.UnchangedOrSameAs(old)) return false;
    if (!copy.defined()) copy = CopyShallowly(value);
    SetChangedField(copy, type, field, std::move(result).ValueUnchecked());
    return false;
  };
  mutator->WithDefRegionKind(
      ContentRegion(mutator->def_region_kind(), StructuralKindOf(type)),
      [&] { reflection::ForEachFieldInfoWithEarlyStop(type, mutate_field); });
  if (failure.is_err() || !copy.defined()) return failure;
  return UnchangedOr<Any>(std::move(copy));
}

// Mutates a variable or shared node at its first use and returns the stored result at later uses.
// A variable without a stored result stays unchanged outside of definition regions, because its
// definition is not part of the mutated value.
inline MutateOutcome MutateIdentity(StructuralMutatorObj* mutator, AnyView value,
                                    const TypeInfo* type) {
  Expected<Any> known = mutator->VarRemapGetExpected(value);
  if (known.type_index() != kTVMFFINone) return ToMutateOutcome(std::move(known));
  bool is_variable = StructuralKindOf(type) == kTVMFFISEqHashKindFreeVar;
  TVMFFIDefRegionKind region = mutator->def_region_kind();
  if (is_variable && region == kTVMFFIDefRegionKindNone) return UnchangedOr<Any>(Unchanged());
  MutateOutcome outcome = MutateFields(mutator, value, type);
  if (outcome.is_err()) return outcome;
  // In a Simple region, variables inside this variable's fields are uses.  Do not store the result
  // Unchanged: in a later Pattern region these variables are definitions and may be replaced.
  const Any& result = ExpectedUnsafe::GetData(outcome);
  bool is_unchanged = result.type_index() == kTVMFFIUnchanged;
  if (is_variable && region == kTVMFFIDefRegionKindSimple && is_unchanged) return outcome;
  Expected<void> stored = mutator->VarRemapSetExpected(value, result);
  if (stored.is_err()) return std::move(stored).error();
  return outcome;
}

inline MutateOutcome MutateObject(StructuralMutatorObj* mutator, AnyView value, InplaceMode mode) {
  int32_t type_index = value.type_index();
  if (mode == InplaceMode::kAllow && value.as<Object>()->unique()) {
    if (const TVMFFIAny* hook = FindInplaceHook(type_index)) {
      return CallMutateHook(hook, type_attr::kStructuralMaybeInplaceMutate.name, mutator, value);
    }
  }
  if (const TVMFFIAny* hook = FindMutateHook(type_index)) {
    return CallMutateHook(hook, type_attr::kStructuralMutate.name, mutator, value);
  }
  const TypeInfo* type = TVMFFIGetTypeInfo(type_index);
  TVMFFISEqHashKind kind = StructuralKindOf(type);
  if (kind == kTVMFFISEqHashKindFreeVar || kind == kTVMFFISEqHashKindDAGNode) {
    return MutateIdentity(mutator, value, type);
  }
  return MutateFields(mutator, value, type);
}

// Same as StructuralMutatorObj::DefaultMutateExpected, but does not record the node of a failure.
inline MutateOutcome DefaultMutate(StructuralMutatorObj* mutator, AnyView value, InplaceMode mode) {
  if (value.type_index() < kTVMFFIStaticObjectBegin) return UnchangedOr<Any>(Any(value));
  return CatchAsExpected([&] { return MutateObject(mutator, value, mode); });
}

// ---- Functions that engines call --------------------------------------------------------------

template <typename Body>
TVMFFIAny DispatchRemap(Body&& body) noexcept {
  return ExpectedUnsafe::MoveToTVMFFIAny(CatchAsExpected(std::forward<Body>(body)));
}

inline ObjectRef RemapKey(AnyView var) {
  if (var.type_index() < kTVMFFIStaticObjectBegin) {
    throw StructuralTypeError("variable replacement: expected an object as the variable, got `" +
                              var.GetTypeKey() + "`");
  }
  return var.cast<ObjectRef>();
}

// Calls step(value, mode), which returns a MutateOutcome.  Adds `value` to the context of an error.
template <typename Step>
MutateOutcome RunStep(AnyView value, InplaceMode mode, Step&& step) noexcept {
  MutateOutcome outcome = CatchAsExpected([&] { return step(value, mode); });
  if (TVM_FFI_PREDICT_FALSE(outcome.is_err())) RecordFailedNode(outcome.error(), value);
  return outcome;
}

// Returns second(first(value)).  Each function takes a value and an InplaceMode.  If `second`
// fails, the context of the error contains the value that `second` received.
template <typename First, typename Second>
MutateOutcome MutateInSequence(AnyView value, InplaceMode mode, First&& first, Second&& second) {
  MutateOutcome outcome = RunStep(value, mode, first);
  if (outcome.is_err()) return outcome;
  UnchangedOr<Any> intermediate = std::move(outcome).value();
  if (intermediate.UnchangedOrSameAs(value)) {
    // Drop the second reference to the value, so that `second` need not copy.
    intermediate = Unchanged();
    return RunStep(value, mode, second);
  }
  Any changed = std::move(intermediate).ValueUnchecked();
  outcome = RunStep(changed, InplaceMode::kAllow, second);
  if (outcome.type_index() == kTVMFFIUnchanged) return UnchangedOr<Any>(std::move(changed));
  return outcome;
}

inline Expected<Any> MutateRoot(StructuralMutatorObj* mutator, Any root) {
  MutateOutcome outcome = mutator->MutateExpected(root, InplaceMode::kAllow);
  if (outcome.type_index() == kTVMFFIUnchanged) return root;
  return ExpectedUnsafe::MoveFromTVMFFIAny<Any>(
      ExpectedUnsafe::MoveToTVMFFIAny(std::move(outcome)));
}

// Callback of StructuralMapDynEngine: calls the Function for the value's type.
class TVM_FFI_HIDDEN_ MapTableCallback {
 public:
  MapTableCallback(const Array<Tuple<int, Function>>& callbacks,
                   const Array<Tuple<int, Function>>& callbacks_with_region) {
    table_.Add(callbacks, /*takes_more=*/false);
    table_.Add(callbacks_with_region, /*takes_more=*/true);
  }
  Expected<Any> operator()(AnyView value, TVMFFIDefRegionKind region) const {
    const StructuralCallbackTable::Entry* entry = table_.Find(value);
    if (entry == nullptr) return Any(Unchanged());
    if (!entry->takes_more) return entry->function.CallExpected<Any>(value);
    return entry->function.CallExpected<Any>(value, static_cast<int>(region));
  }

 private:
  StructuralCallbackTable table_;
};

// ---- Functions that the macros of structural_mutate.h call ------------------------------------

template <typename T>
bool OutcomeHolds(const ExpectedBase& outcome) {
  return AnyUnsafe::CheckAnyStrict<T>(ExpectedUnsafe::GetData(outcome));
}

template <typename T>
T MoveOutOfOutcome(ExpectedBase&& outcome) {
  return AnyUnsafe::MoveFromAnyAfterCheck<T>(
      AnyUnsafe::MoveTVMFFIAnyRawToAny(ExpectedUnsafe::MoveToTVMFFIAny(std::move(outcome))));
}

}  // namespace detail

inline Expected<UnchangedOr<Any>> StructuralMutatorObj::MutateExpected(AnyView value,
                                                                       InplaceMode mode) {
  if (TVM_FFI_PREDICT_FALSE(detail::IsTooDeep(value))) return detail::NestedTooDeepError();
  bool may_write = mode == InplaceMode::kAllow && value.type_index() >= kTVMFFIStaticObjectBegin &&
                   value.as<Object>()->unique();
  auto mutate = may_write ? vtable_->maybe_inplace_mutate : vtable_->mutate;
  return detail::TakeMutateOutcome(mutate(this, value));
}

inline Expected<UnchangedOr<Any>> StructuralMutatorObj::DefaultMutateExpected(AnyView value,
                                                                              InplaceMode mode) {
  Expected<UnchangedOr<Any>> outcome = detail::DefaultMutate(this, value, mode);
  if (TVM_FFI_PREDICT_FALSE(outcome.is_err())) detail::RecordFailedNode(outcome.error(), value);
  return outcome;
}

inline Expected<Any> StructuralMutatorObj::VarRemapGetExpected(AnyView var) {
  return detail::ExpectedUnsafe::MoveFromTVMFFIAny<Any>(vtable_->var_remap_get(this, var));
}

inline Expected<void> StructuralMutatorObj::VarRemapSetExpected(AnyView var, AnyView value) {
  Expected<Any> stored =
      detail::ExpectedUnsafe::MoveFromTVMFFIAny<Any>(vtable_->var_remap_set(this, var, value));
  if (stored.is_err()) return std::move(stored).error();
  return Expected<void>();
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STRUCTURAL_MUTATE_DETAIL_H_
