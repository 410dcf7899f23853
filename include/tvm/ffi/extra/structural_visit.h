// SPDX-License-Identifier: Apache-2.0
// Structural visits: recursive walks over a value and its children.
//
//   StructuralWalk<WalkOrder::kPreOrder>(root, [](const Var& var) {
//     return IsBound(var) ? WalkResult::Advance() : WalkResult::Interrupt(VisitInterrupt(var));
//   });
//
// A visitor is an object with a vtable of one function, which visits a value.  The default
// recursion calls the "__s_visit__" hook of the value's type, or visits its fields if there is no
// hook.  Libraries call hooks and vtable functions of other libraries through plain pointers, so
// the calling convention is part of the binary contract.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_
#define TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_

#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/extra/structural_callback_detail.h>
#include <tvm/ffi/reflection/native_function.h>

namespace tvm {
namespace ffi {

// ---- Interrupts -------------------------------------------------------------------------------

// Object to which a VisitInterrupt refers.
class VisitInterruptObj : public Object {
 public:
  Any value;

  VisitInterruptObj() = default;
  explicit VisitInterruptObj(Any value) : value(std::move(value)) {}

  static constexpr int32_t _type_index = kTVMFFIVisitInterrupt;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIVisitInterrupt, VisitInterruptObj,
                                     Object)
};

// Ends a visit early and returns a value to the code that started the visit.
class VisitInterrupt : public ObjectRef {
 public:
  explicit VisitInterrupt(Any value = nullptr)
      : ObjectRef(ObjectPtr<Object>(make_object<VisitInterruptObj>(std::move(value)))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(VisitInterrupt, ObjectRef, VisitInterruptObj);
};

// ---- Visitors ---------------------------------------------------------------------------------

class StructuralVisitorObj;

// Function that visits a value.  Returns an owned value: None to continue, a VisitInterrupt to
// stop, or an Error.
using FStructuralVisitABI = TVMFFIAny (*)(StructuralVisitorObj* visitor, AnyView value) noexcept;

// Function that a type registers to visit the children of its values: see
// type_attr::kStructuralVisit.
using FStructuralVisit =
    reflection::NativeFunctionView<Optional<VisitInterrupt>(StructuralVisitorObj*, AnyView)>;

// Vtable of a visitor.  The layout must not change, because other libraries are compiled against
// it.
struct StructuralVisitorVTable {
  FStructuralVisitABI visit;
};

// Base class of visitors; a derived class defines a vtable.  Threads: only one thread at a time may
// use a visitor.
class StructuralVisitorObj : public Object {
 public:
  using VisitorObjType = StructuralVisitorObj;
  // Types of the states, which are additional arguments that an engine passes to its callbacks
  // after the value.  This class has no states.  A derived class with states defines StateTupleType
  // and StateTuple() again.
  using StateTupleType = std::tuple<>;

  // Visit a value with this visitor's vtable.
  Optional<VisitInterrupt> Visit(AnyView value) { return VisitExpected(value).value(); }
  Expected<Optional<VisitInterrupt>> VisitExpected(AnyView value);
  // Visits the children of a value: calls the hook of the value's type, or visits the fields of the
  // value if the type has no hook.  Visit functions call this function for the default recursion.
  Expected<Optional<VisitInterrupt>> DefaultVisitExpected(AnyView value);

  // Returns the definition region of the value that is being visited.
  TVMFFIDefRegionKind def_region_kind() const { return def_region_mode_; }
  // Calls callback() in the definition region `kind` and returns its result.  Within a Pattern
  // region, the region stays Pattern.
  template <typename Callback>
  decltype(auto) WithDefRegionKind(TVMFFIDefRegionKind kind, Callback&& callback) {
    detail::DefRegionScope scope(&def_region_mode_, kind);
    return std::forward<Callback>(callback)();
  }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("ffi.StructuralVisitor", StructuralVisitorObj, Object);

 protected:
  explicit StructuralVisitorObj(const StructuralVisitorVTable* vtable) : vtable_(vtable) {}
  // Protected to prevent slicing: the vtable's functions expect the derived class.
  StructuralVisitorObj(const StructuralVisitorObj&) = default;
  StructuralVisitorObj& operator=(const StructuralVisitorObj&) = default;

  StateTupleType StateTuple() const noexcept { return {}; }

  const StructuralVisitorVTable* vtable_;
  TVMFFIDefRegionKind def_region_mode_ = kTVMFFIDefRegionKindNone;
};

static_assert(sizeof(void*) < 8 || sizeof(StructuralVisitorObj) == 40,
              "the layout of StructuralVisitorObj is part of the binary contract");

// Reference to a StructuralVisitorObj.
class StructuralVisitor : public ObjectRef {
 public:
  explicit StructuralVisitor(ObjectPtr<StructuralVisitorObj> visitor)
      : ObjectRef(ObjectPtr<Object>(std::move(visitor))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(StructuralVisitor, ObjectRef, StructuralVisitorObj);
};

namespace type_attr {
// Hook (a function that a type registers) that visits the children of a value: the hook calls
// visitor->VisitExpected for each child.
inline constexpr reflection::AttrKey<FStructuralVisit> kStructuralVisit{"__s_visit__"};
}  // namespace type_attr

namespace detail {

using VisitOutcome = Expected<Optional<VisitInterrupt>>;

inline bool EndsVisit(const ExpectedBase& outcome) {
  return outcome.type_index() == kTVMFFIVisitInterrupt || outcome.is_err();
}
inline bool EndsVisit(const Optional<VisitInterrupt>& outcome) { return outcome.has_value(); }

// Checks and converts the result of a visit function.  The check is necessary because the function
// may be in another library.
inline VisitOutcome TakeVisitOutcome(TVMFFIAny raw) {
  if (TVM_FFI_PREDICT_FALSE(raw.type_index != kTVMFFINone && raw.type_index != kTVMFFIError &&
                            raw.type_index != kTVMFFIVisitInterrupt)) {
    Any result = AnyUnsafe::MoveTVMFFIAnyRawToAny(raw);
    return StructuralTypeError("a visit function returned `" + result.GetTypeKey() +
                               "`, which is neither None nor ffi.VisitInterrupt");
  }
  return ExpectedUnsafe::MoveFromTVMFFIAny<Optional<VisitInterrupt>>(raw);
}

// Returns the "__s_visit__" hook of a type; nullptr if the type has none.
TVM_FFI_HIDDEN_ inline const TVMFFIAny* FindVisitHook(int32_t type_index) {
  static const TVMFFITypeAttrColumn* column;
  return FindAttrIn(&column, type_attr::kStructuralVisit.name, type_index);
}

inline VisitOutcome CallVisitHook(const TVMFFIAny* hook, StructuralVisitorObj* visitor,
                                  AnyView value) {
  if (TVM_FFI_PREDICT_TRUE(hook->type_index == kTVMFFIOpaquePtr)) {
    return TakeVisitOutcome(reinterpret_cast<FStructuralVisitABI>(hook->v_ptr)(visitor, value));
  }
  if (hook->type_index == kTVMFFIFunction) {
    return AnyView::CopyFromTVMFFIAny(*hook)
        .cast<Function>()
        .CallExpected<Optional<VisitInterrupt>>(visitor, value);
  }
  return StructuralTypeError("__s_visit__ must be an opaque function pointer or ffi.Function");
}

inline VisitOutcome VisitFields(StructuralVisitorObj* visitor, const Object* object) {
  const TypeInfo* type = TVMFFIGetTypeInfo(object->type_index());
  VisitOutcome outcome = Optional<VisitInterrupt>();
  auto visit_field = [&](const TVMFFIFieldInfo* field) {
    if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) != 0) return false;
    Any value = reflection::FieldGetter(field)(object);
    TVMFFIDefRegionKind region = NestedRegion(visitor->def_region_kind(), RegionOfField(field));
    outcome = visitor->WithDefRegionKind(region, [&] { return visitor->VisitExpected(value); });
    return EndsVisit(outcome);
  };
  visitor->WithDefRegionKind(ContentRegion(visitor->def_region_kind(), StructuralKindOf(type)),
                             [&] { reflection::ForEachFieldInfoWithEarlyStop(type, visit_field); });
  return outcome;
}

}  // namespace detail

inline Expected<Optional<VisitInterrupt>> StructuralVisitorObj::VisitExpected(AnyView value) {
  if (TVM_FFI_PREDICT_FALSE(detail::IsTooDeep(value))) return detail::NestedTooDeepError();
  return detail::TakeVisitOutcome(vtable_->visit(this, value));
}

inline Expected<Optional<VisitInterrupt>> StructuralVisitorObj::DefaultVisitExpected(
    AnyView value) {
  if (value.type_index() < kTVMFFIStaticObjectBegin) return Optional<VisitInterrupt>();
  return detail::CatchAsExpected([&] {
    if (const TVMFFIAny* hook = detail::FindVisitHook(value.type_index())) {
      return detail::CallVisitHook(hook, this, value);
    }
    return detail::VisitFields(this, value.as<Object>());
  });
}

// ---- Engines: visitors that call callbacks ----------------------------------------------------

// Result of a walk's callback: continue, skip the children, or interrupt the walk.  Callbacks in
// other languages return 0 or None for Advance, 1 for Skip, or a VisitInterrupt.
class WalkResult : public Variant<VisitInterrupt, int> {
 public:
  using Storage = Variant<VisitInterrupt, int>;
  static constexpr int kAdvanceTag = 0;
  static constexpr int kSkipTag = 1;

  static WalkResult Advance() { return WalkResult(kAdvanceTag); }
  // Do not visit the children of the value.  Skip has no effect in post-order, because the children
  // are then visited before the callback is called.
  static WalkResult Skip() { return WalkResult(kSkipTag); }
  static WalkResult Interrupt(VisitInterrupt interrupt = VisitInterrupt()) {
    return WalkResult(std::move(interrupt));
  }

 private:
  using Base = Variant<VisitInterrupt, int>;
  explicit WalkResult(Base value) : Base(std::move(value)) {}
  friend struct TypeTraits<WalkResult>;
};

template <>
struct TypeTraits<WalkResult> : TypeTraitsBase {
  using Base = TypeTraits<Variant<VisitInterrupt, int>>;

  static void CopyToAnyView(const WalkResult& src, TVMFFIAny* result) {
    Base::CopyToAnyView(src, result);
  }
  static void MoveToAny(WalkResult src, TVMFFIAny* result) {
    Base::MoveToAny(std::move(src), result);
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == kTVMFFINone || Base::CheckAnyStrict(src);
  }
  static WalkResult CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return WalkResult::Advance();
    return WalkResult(Base::CopyFromAnyViewAfterCheck(src));
  }
  static WalkResult MoveFromAnyAfterCheck(TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return WalkResult::Advance();
    return WalkResult(Base::MoveFromAnyAfterCheck(src));
  }
  static std::optional<WalkResult> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    if (src->type_index == kTVMFFIBool) return WalkResult(static_cast<int>(src->v_int64));
    return std::nullopt;
  }
  static std::string TypeStr() { return "WalkResult"; }
  static std::string TypeSchema() { return Base::TypeSchema(); }
};

// Order of a walk: callbacks are called before (kPreOrder) or after (kPostOrder) the children of a
// value are visited.
enum class WalkOrder : int { kPreOrder = 0, kPostOrder = 1 };

namespace detail {

// Returns the result of an engine's visit function for `value`, or None without a call if the value
// is None.  Adds `value` to the context of an error.
template <typename VisitNode>
TVMFFIAny DispatchVisit(AnyView value, VisitNode&& visit_node) noexcept {
  if (value == nullptr) return AnyView().CopyToTVMFFIAny();
  VisitOutcome outcome = CatchAsExpected(std::forward<VisitNode>(visit_node));
  if (TVM_FFI_PREDICT_FALSE(outcome.is_err())) RecordFailedNode(outcome.error(), value);
  return ExpectedUnsafe::MoveToTVMFFIAny(std::move(outcome));
}

inline bool IsSkip(const Expected<WalkResult>& result) {
  const Any& data = ExpectedUnsafe::GetData(result);
  return data.type_index() == kTVMFFIInt &&
         AnyUnsafe::CopyFromAnyViewAfterCheck<int64_t>(data) == 1;
}

inline VisitOutcome AsVisitOutcome(Expected<WalkResult>&& result) {
  if (!EndsVisit(result)) return Optional<VisitInterrupt>();
  return ExpectedUnsafe::MoveFromTVMFFIAny<Optional<VisitInterrupt>>(
      ExpectedUnsafe::MoveToTVMFFIAny(std::move(result)));
}

}  // namespace detail

// Engine that calls, for each value, the first callback that accepts the value.  The engine does
// the recursion.  A callback takes (value[, state...][, TVMFFIDefRegionKind]), where the states are
// the elements of Parent::StateTuple, and returns WalkResult or Expected<WalkResult>.
template <typename Parent, WalkOrder order, typename... Callbacks>
class TVM_FFI_HIDDEN_ StructuralWalkEngine : public Parent {
  static_assert(std::is_base_of_v<StructuralVisitorObj, Parent>,
                "Parent must derive from StructuralVisitorObj");
  static_assert(sizeof...(Callbacks) > 0, "StructuralWalk requires at least one callback");

 public:
  using StateTupleType = typename Parent::StateTupleType;

  explicit StructuralWalkEngine(Callbacks... callbacks)
      : Parent(VTable()), callbacks_(std::move(callbacks)...) {}

 private:
  static const StructuralVisitorVTable* VTable() {
    static constexpr StructuralVisitorVTable vtable{&VisitNode};
    return &vtable;
  }
  static TVMFFIAny VisitNode(StructuralVisitorObj* self, AnyView value) noexcept {
    return detail::DispatchVisit(
        value, [&] { return static_cast<StructuralWalkEngine*>(self)->Walk(value); });
  }
  Expected<Optional<VisitInterrupt>> Walk(AnyView value) {
    if constexpr (order == WalkOrder::kPreOrder) {
      Expected<WalkResult> result = CallFirst(value);
      if (detail::EndsVisit(result) || detail::IsSkip(result)) {
        return detail::AsVisitOutcome(std::move(result));
      }
      return this->DefaultVisitExpected(value);
    } else {
      Expected<Optional<VisitInterrupt>> children = this->DefaultVisitExpected(value);
      if (detail::EndsVisit(children)) return children;
      return detail::AsVisitOutcome(CallFirst(value));
    }
  }
  Expected<WalkResult> CallFirst(AnyView value) {
    Expected<WalkResult> result = WalkResult::Advance();
    auto try_each = [&](Callbacks&... callback) {
      (void)(TryCallback(callback, value, &result) || ...);
    };
    std::apply(try_each, callbacks_);
    return result;
  }
  template <typename Callback>
  bool TryCallback(Callback& callback, AnyView value, Expected<WalkResult>* result) {
    if (!detail::StructuralCallback<Callback>::Accepts(value)) return false;
    *result = Call(callback, value);
    return true;
  }
  template <typename Callback>
  Expected<WalkResult> Call(Callback& callback, AnyView value) {
    return detail::WalkCallback<Callback, StateTupleType>::Call(callback, value, this->StateTuple(),
                                                                this->def_region_kind());
  }

  std::tuple<Callbacks...> callbacks_;
};

// Engine that calls the first callback that accepts a value.  The callback does the recursion.  A
// callback takes (value, StructuralVisitorObj*), or a Parent* as second parameter, and returns
// Optional<VisitInterrupt> or an Expected of it.
template <typename Parent, typename... Callbacks>
class TVM_FFI_HIDDEN_ StructuralVisitEngine : public Parent {
  static_assert(std::is_base_of_v<StructuralVisitorObj, Parent>,
                "Parent must derive from StructuralVisitorObj");
  static_assert(sizeof...(Callbacks) > 0, "StructuralVisit requires at least one callback");

 public:
  explicit StructuralVisitEngine(Callbacks... callbacks)
      : Parent(VTable()), callbacks_(std::move(callbacks)...) {}

 private:
  static const StructuralVisitorVTable* VTable() {
    static constexpr StructuralVisitorVTable vtable{&VisitNode};
    return &vtable;
  }
  static TVMFFIAny VisitNode(StructuralVisitorObj* self, AnyView value) noexcept {
    return detail::DispatchVisit(
        value, [&] { return static_cast<StructuralVisitEngine*>(self)->CallFirst(value); });
  }
  Expected<Optional<VisitInterrupt>> CallFirst(AnyView value) {
    Expected<Optional<VisitInterrupt>> outcome = Optional<VisitInterrupt>();
    auto try_each = [&](Callbacks&... callback) {
      return (TryCallback(callback, value, &outcome) || ...);
    };
    if (std::apply(try_each, callbacks_)) return outcome;
    return this->DefaultVisitExpected(value);
  }
  template <typename Callback>
  bool TryCallback(Callback& callback, AnyView value, Expected<Optional<VisitInterrupt>>* outcome) {
    if (!detail::StructuralCallback<Callback>::Accepts(value)) return false;
    *outcome = Call(callback, value);
    return true;
  }
  template <typename Callback>
  Expected<Optional<VisitInterrupt>> Call(Callback& callback, AnyView value) {
    using Traits = detail::StructuralCallback<Callback>;
    static_assert(Traits::Info::num_args == 2,
                  "a StructuralVisit callback takes (value, StructuralVisitorObj*)");
    return callback(Traits::Convert(value), static_cast<Parent*>(this));
  }

  std::tuple<Callbacks...> callbacks_;
};

// ---- Functions that start a visit -------------------------------------------------------------

// Walks `root` and its children: see StructuralWalkEngine.  Returns the interrupt if a callback
// interrupted the walk.  Owns a reference to `root` during the walk.
template <WalkOrder order, typename... Callbacks>
Expected<Optional<VisitInterrupt>> StructuralWalkExpected(AnyView root, Callbacks&&... callbacks) {
  using Engine = StructuralWalkEngine<StructuralVisitorObj, order, std::decay_t<Callbacks>...>;
  Any owned(root);
  return make_object<Engine>(std::forward<Callbacks>(callbacks)...)->VisitExpected(owned);
}
// Same as StructuralWalkExpected, but throws errors.
template <WalkOrder order, typename... Callbacks>
Optional<VisitInterrupt> StructuralWalk(AnyView root, Callbacks&&... callbacks) {
  return StructuralWalkExpected<order>(root, std::forward<Callbacks>(callbacks)...).value();
}

// Same as StructuralWalkExpected, but the callbacks do the recursion: see StructuralVisitEngine.
template <typename... Callbacks>
Expected<Optional<VisitInterrupt>> StructuralVisitExpected(AnyView root, Callbacks&&... callbacks) {
  using Engine = StructuralVisitEngine<StructuralVisitorObj, std::decay_t<Callbacks>...>;
  Any owned(root);
  return make_object<Engine>(std::forward<Callbacks>(callbacks)...)->VisitExpected(owned);
}
// Same as StructuralVisitExpected, but throws errors.
template <typename... Callbacks>
Optional<VisitInterrupt> StructuralVisit(AnyView root, Callbacks&&... callbacks) {
  return StructuralVisitExpected(root, std::forward<Callbacks>(callbacks)...).value();
}

}  // namespace ffi
}  // namespace tvm

// Returns from the enclosing function with the interrupt or error of `expr`, the result of a visit,
// if it has one.
#define TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(expr)                                       \
  do {                                                                                 \
    auto&& tvm_ffi_visit_outcome = (expr);                                             \
    if (TVM_FFI_PREDICT_FALSE(::tvm::ffi::detail::EndsVisit(tvm_ffi_visit_outcome))) { \
      return std::forward<decltype(tvm_ffi_visit_outcome)>(tvm_ffi_visit_outcome);     \
    }                                                                                  \
  } while (false)

#endif  // TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_
