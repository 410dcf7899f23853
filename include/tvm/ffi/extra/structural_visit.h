// SPDX-License-Identifier: Apache-2.0
// Structural visits: walks over everything that a value holds, as its type describes it.
//
//   StructuralWalk<WalkOrder::kPreOrder>(root, [](const Var& var) {
//     return IsBound(var) ? WalkResult::Advance() : WalkResult::Interrupt(VisitInterrupt(var));
//   });
//
// A visitor is an object with a table of one function, which visits one value; the default descent
// calls the "__s_visit__" hook of the value's type, or else visits its fields.  Hooks and tables
// cross library boundaries as plain pointers, so their calling convention is binary contract.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_
#define TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_

#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/extra/structural_callback_detail.h>
#include <tvm/ffi/reflection/native_function.h>

namespace tvm {
namespace ffi {

// ---- Interrupts -------------------------------------------------------------------------------

// Ends a whole visit early and carries what it found.
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

// Reference to a VisitInterruptObj: ends a visit, with a value for whoever began it.
class VisitInterrupt : public ObjectRef {
 public:
  explicit VisitInterrupt(Any value = nullptr)
      : ObjectRef(ObjectPtr<Object>(make_object<VisitInterruptObj>(std::move(value)))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(VisitInterrupt, ObjectRef, VisitInterruptObj);
};

// ---- Visitors ---------------------------------------------------------------------------------

class StructuralVisitorObj;

// None to go on, a VisitInterrupt to stop, or an Error; owned.
using FStructuralVisitABI = TVMFFIAny (*)(StructuralVisitorObj* visitor, AnyView value) noexcept;

// How a type descends into its values: see type_attr::kStructuralVisit.
using FStructuralVisit =
    reflection::NativeFunctionView<Optional<VisitInterrupt>(StructuralVisitorObj*, AnyView)>;

// What a kind of visitors does with a value.
struct StructuralVisitorVTable {
  FStructuralVisitABI visit;
};

// Users derive from it with a table of their own.  Threads: one at a time.
class StructuralVisitorObj : public Object {
 public:
  using VisitorObjType = StructuralVisitorObj;
  // What callbacks of an engine get besides the value; a derived class has its own, and StateTuple.
  using StateTupleType = std::tuple<>;

  // Visits a value as this visitor does it.
  Optional<VisitInterrupt> Visit(AnyView value) { return VisitExpected(value).value(); }
  Expected<Optional<VisitInterrupt>> VisitExpected(AnyView value);
  // Visits with this visitor what the value holds: for the visit functions of visitors.
  Expected<Optional<VisitInterrupt>> DefaultVisitExpected(AnyView value);

  // Whether what is being visited lies in a field that defines variables.
  TVMFFIDefRegionKind def_region_kind() const { return def_region_mode_; }
  // callback() within such a region; a Pattern region stays one, whatever is nested in it.
  template <typename Callback>
  decltype(auto) WithDefRegionKind(TVMFFIDefRegionKind kind, Callback&& callback) {
    detail::DefRegionScope scope(&def_region_mode_, kind);
    return std::forward<Callback>(callback)();
  }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("ffi.StructuralVisitor", StructuralVisitorObj, Object);

 protected:
  explicit StructuralVisitorObj(const StructuralVisitorVTable* vtable) : vtable_(vtable) {}
  // A copy of only this part would be served by functions that expect the whole.
  StructuralVisitorObj(const StructuralVisitorObj&) = default;
  StructuralVisitorObj& operator=(const StructuralVisitorObj&) = default;

  StateTupleType StateTuple() const noexcept { return {}; }

  const StructuralVisitorVTable* vtable_;
  TVMFFIDefRegionKind def_region_mode_ = kTVMFFIDefRegionKindNone;
};

static_assert(sizeof(StructuralVisitorObj) == 40, "read by other libraries");

// Reference to a StructuralVisitorObj.
class StructuralVisitor : public ObjectRef {
 public:
  explicit StructuralVisitor(ObjectPtr<StructuralVisitorObj> visitor)
      : ObjectRef(ObjectPtr<Object>(std::move(visitor))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(StructuralVisitor, ObjectRef, StructuralVisitorObj);
};

namespace type_attr {
// How values of a type are descended into: calls visitor->VisitExpected for what they hold.
inline constexpr reflection::AttrKey<FStructuralVisit> kStructuralVisit{"__s_visit__"};
}  // namespace type_attr

namespace detail {

using VisitOutcome = Expected<Optional<VisitInterrupt>>;

inline bool EndsVisit(const ExpectedBase& outcome) {
  return outcome.type_index() == kTVMFFIVisitInterrupt || outcome.is_err();
}
inline bool EndsVisit(const Optional<VisitInterrupt>& outcome) { return outcome.has_value(); }

// What a visit function of whatever library has returned.
inline VisitOutcome TakeVisitOutcome(TVMFFIAny raw) {
  if (TVM_FFI_PREDICT_FALSE(raw.type_index != kTVMFFINone && raw.type_index != kTVMFFIError &&
                            raw.type_index != kTVMFFIVisitInterrupt)) {
    Any dropped = AnyUnsafe::MoveTVMFFIAnyRawToAny(raw);
    return StructuralTypeError("a visit function returned `" + dropped.GetTypeKey() +
                               "`, which is neither None nor ffi.VisitInterrupt");
  }
  return ExpectedUnsafe::MoveFromTVMFFIAny<Optional<VisitInterrupt>>(raw);
}

// The "__s_visit__" hook of a type, or nullptr.
TVM_FFI_HIDDEN inline const TVMFFIAny* FindVisitHook(int32_t type_index) {
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

// ---- Engines ----------------------------------------------------------------------------------

// What a walk does after a callback.  A callback of another language returns 0, or None, for
// Advance, 1 for Skip, or the interrupt.
class WalkResult : public Variant<VisitInterrupt, int> {
 public:
  using Storage = Variant<VisitInterrupt, int>;
  static constexpr int kAdvanceTag = 0;
  static constexpr int kSkipTag = 1;

  static WalkResult Advance() { return WalkResult(kAdvanceTag); }
  // Do not visit what this value holds; in post order that has happened already.
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

// Whether a callback sees a value before or after what it holds.
enum class WalkOrder : int { kPreOrder = 0, kPostOrder = 1 };

namespace detail {

// The visit function of an engine: None is not a value to visit, and errors learn where they were.
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

// Calls the first callback that takes the value, and descends by itself.  A callback is
// (value[, state...][, TVMFFIDefRegionKind]) -> WalkResult or Expected<WalkResult>; the states are
// what Parent::StateTuple returns.
template <typename Parent, WalkOrder order, typename... Callbacks>
class TVM_FFI_HIDDEN StructuralWalkEngine : public Parent {
  static_assert(std::is_base_of_v<StructuralVisitorObj, Parent>, "an engine is a visitor");
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
      Expected<Optional<VisitInterrupt>> below = this->DefaultVisitExpected(value);
      if (detail::EndsVisit(below)) return below;
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

// Leaves the descent to the first callback that takes the value.  A callback is
// (value, StructuralVisitorObj*) -> Optional<VisitInterrupt>, or an Expected of it; it may also
// take a Parent*.
template <typename Parent, typename... Callbacks>
class TVM_FFI_HIDDEN StructuralVisitEngine : public Parent {
  static_assert(std::is_base_of_v<StructuralVisitorObj, Parent>, "an engine is a visitor");
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

// ---- Entry points -----------------------------------------------------------------------------

// Walks over `root`, which stays alive meanwhile, and returns the interrupt that ended it early.
template <WalkOrder order, typename... Callbacks>
Expected<Optional<VisitInterrupt>> StructuralWalkExpected(AnyView root, Callbacks&&... callbacks) {
  using Engine = StructuralWalkEngine<StructuralVisitorObj, order, std::decay_t<Callbacks>...>;
  Any owned(root);
  return make_object<Engine>(std::forward<Callbacks>(callbacks)...)->VisitExpected(owned);
}
// The same, but throws.
template <WalkOrder order, typename... Callbacks>
Optional<VisitInterrupt> StructuralWalk(AnyView root, Callbacks&&... callbacks) {
  return StructuralWalkExpected<order>(root, std::forward<Callbacks>(callbacks)...).value();
}

// The same for callbacks that descend themselves.
template <typename... Callbacks>
Expected<Optional<VisitInterrupt>> StructuralVisitExpected(AnyView root, Callbacks&&... callbacks) {
  using Engine = StructuralVisitEngine<StructuralVisitorObj, std::decay_t<Callbacks>...>;
  Any owned(root);
  return make_object<Engine>(std::forward<Callbacks>(callbacks)...)->VisitExpected(owned);
}
// The same, but throws.
template <typename... Callbacks>
Optional<VisitInterrupt> StructuralVisit(AnyView root, Callbacks&&... callbacks) {
  return StructuralVisitExpected(root, std::forward<Callbacks>(callbacks)...).value();
}

}  // namespace ffi
}  // namespace tvm

// Returns an interrupt or error from the enclosing function; `expr` is the result of a visit.
#define TVM_FFI_S_VISIT_MAYBE_EARLY_RETURN(expr)                                       \
  do {                                                                                 \
    auto&& tvm_ffi_visit_outcome = (expr);                                             \
    if (TVM_FFI_PREDICT_FALSE(::tvm::ffi::detail::EndsVisit(tvm_ffi_visit_outcome))) { \
      return std::forward<decltype(tvm_ffi_visit_outcome)>(tvm_ffi_visit_outcome);     \
    }                                                                                  \
  } while (false)

#endif  // TVM_FFI_EXTRA_STRUCTURAL_VISIT_H_
