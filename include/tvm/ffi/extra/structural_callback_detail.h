// SPDX-License-Identifier: Apache-2.0
// What structural visits and mutations share: callbacks chosen by the type of their first
// parameter, callbacks in a table filled at run time, and what descents have in common.
#ifndef TVM_FFI_EXTRA_STRUCTURAL_CALLBACK_DETAIL_H_
#define TVM_FFI_EXTRA_STRUCTURAL_CALLBACK_DETAIL_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/extra/def_region_detail.h>
#include <tvm/ffi/extra/native_stack_detail.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {
namespace detail {

// ---- Descent ----------------------------------------------------------------------------------

inline TVMFFISEqHashKind StructuralKindOf(const TypeInfo* type) {
  const TVMFFITypeMetadata* metadata = reflection::detail::MetadataOf(type);
  return metadata != nullptr ? metadata->structural_eq_hash_kind : kTVMFFISEqHashKindUnsupported;
}

TVM_FFI_FAILURE_ inline Error StructuralTypeError(std::string_view message) {
  return MakeError("TypeError", message, std::string_view());
}

// Whether the stack does not suffice to descend into the value.
inline bool IsTooDeep(AnyView value) {
  return value.type_index() >= kTVMFFIStaticObjectBegin && NativeStackIsLow();
}

TVM_FFI_FAILURE_ inline Error NestedTooDeepError() {
  return MakeError("ValueError",
                   "the value is nested too deep for the stack of this thread, or contains itself",
                   std::string_view());
}

// body(), whose result is an Expected; what it throws becomes the result.
template <typename Body>
auto CatchAsExpected(Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return reflection::detail::CurrentExceptionAsError();
  }
}

// ---- Callbacks chosen by type -----------------------------------------------------------------

// The first parameter of a callback says which values it is for.
template <typename Callback>
struct StructuralCallback {
  using Info = FunctionInfo<Callback>;
  static_assert(Info::num_args > 0, "a structural callback takes a value");
  using Parameter = std::tuple_element_t<0, typename Info::ArgType>;
  using Value = std::remove_cv_t<std::remove_reference_t<Parameter>>;

  static bool Accepts([[maybe_unused]] AnyView value) {
    if constexpr (std::is_same_v<Value, AnyView>) {
      return true;
    } else {
      return AnyUnsafe::CheckAnyViewStrict<Value>(value);
    }
  }
  // A value that it accepts.
  static Value Convert(AnyView value) {
    if constexpr (std::is_same_v<Value, AnyView>) {
      return value;
    } else {
      return AnyUnsafe::CopyFromAnyViewAfterCheck<Value>(value);
    }
  }
};

// A callback of an engine that descends by itself: (value[, state...][, TVMFFIDefRegionKind]),
// where the states are those of the engine's parent, all of them.
template <typename Callback, typename States>
struct WalkCallback : StructuralCallback<Callback> {
  using Base = StructuralCallback<Callback>;
  using Arguments = typename Base::Info::ArgType;
  using Last = std::tuple_element_t<Base::Info::num_args - 1, Arguments>;
  static constexpr size_t kNumArgs = Base::Info::num_args;
  static constexpr size_t kNumStates = std::tuple_size_v<States>;
  static constexpr bool kTakesRegion =
      kNumArgs == 2 + kNumStates ||
      (kNumArgs == 2 && std::is_same_v<std::decay_t<Last>, TVMFFIDefRegionKind>);
  static constexpr size_t kNumTaken = kNumArgs - 1 - (kTakesRegion ? 1 : 0);
  static_assert(kNumTaken == 0 || kNumTaken == kNumStates,
                "a structural callback takes (value[, state...][, TVMFFIDefRegionKind])");

  static decltype(auto) Call(Callback& callback, AnyView value, States states,
                             TVMFFIDefRegionKind region) {
    return CallWith(std::make_index_sequence<kNumTaken>(), callback, value, states, region);
  }

 private:
  template <size_t... I>
  static decltype(auto) CallWith(std::index_sequence<I...>, Callback& callback, AnyView value,
                                 [[maybe_unused]] States& states,
                                 [[maybe_unused]] TVMFFIDefRegionKind region) {
    if constexpr (kTakesRegion) {
      return callback(Base::Convert(value), std::get<I>(states)..., region);
    } else {
      return callback(Base::Convert(value), std::get<I>(states)...);
    }
  }
};

// ---- Callbacks in a table ---------------------------------------------------------------------

// Pairs of a type index and a function; the first whose type the value has, or inherits, wins.
class TVM_FFI_HIDDEN StructuralCallbackTable {
 public:
  struct Entry {
    int32_t type_index;
    bool takes_more;  // one argument more than the others; what it is depends on the traversal
    Function function;
  };

  // ValueError when the function is null.
  void Add(int32_t type_index, Function function, bool takes_more) {
    if (function == nullptr) {
      ThrowError("ValueError", "callback " + std::to_string(entries_.size()) + " is None");
    }
    entries_.push_back(Entry{type_index, takes_more, std::move(function)});
  }
  void Add(const Array<Tuple<int, Function>>& callbacks, bool takes_more) {
    for (const Tuple<int, Function>& callback : callbacks) {
      Add(callback.get<0>(), callback.get<1>(), takes_more);
    }
  }

  // Null when there is none.
  const Entry* Find(AnyView value) const {
    for (const Entry& entry : entries_) {
      if (IsInstance(value.type_index(), entry.type_index)) return &entry;
    }
    return nullptr;
  }

 private:
  // As RuntimeTypeIndexMatch, but `target` need not be the index of a type.
  static bool IsInstance(int32_t actual, int32_t target) {
    if (actual == target || target == kTVMFFIAny) return true;
    if (target == kTVMFFIStr) return actual == kTVMFFISmallStr;
    if (target == kTVMFFIBytes) return actual == kTVMFFISmallBytes;
    if (actual < kTVMFFIStaticObjectBegin || target < kTVMFFIStaticObjectBegin) return false;
    const TypeInfo* type = TVMFFIGetTypeInfo(actual);
    for (int32_t depth = 0; depth < type->type_depth; ++depth) {
      if (type->type_ancestors[depth]->type_index == target) return true;
    }
    return false;
  }

  std::vector<Entry> entries_;
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STRUCTURAL_CALLBACK_DETAIL_H_
