// SPDX-License-Identifier: Apache-2.0
// Callbacks of structural visits and mutations, and common functions of their recursion.
//
// A callback is selected by the C++ type of its first parameter, or by a type index from a table
// that is filled at run time.
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

// ---- Recursion of visits and mutations --------------------------------------------------------

inline TVMFFISEqHashKind StructuralKindOf(const TypeInfo* type) {
  const TVMFFITypeMetadata* metadata = reflection::detail::MetadataOf(type);
  return metadata != nullptr ? metadata->structural_eq_hash_kind : kTVMFFISEqHashKindUnsupported;
}

TVM_FFI_FAILURE_ inline Error StructuralTypeError(std::string_view message) {
  return MakeError("TypeError", message, std::string_view());
}

// True if `value` is an object and the rest of the stack is too small to recurse into it.
inline bool IsTooDeep(AnyView value) {
  return value.type_index() >= kTVMFFIStaticObjectBegin && NativeStackIsLow();
}

TVM_FFI_FAILURE_ inline Error NestedTooDeepError() {
  return MakeError("ValueError",
                   "the value is nested too deep for the stack of this thread, or contains itself",
                   std::string_view());
}

// Calls body() and returns its result, an Expected.  If body() throws, returns an Expected with the
// exception as its error.
template <typename Body>
auto CatchAsExpected(Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return reflection::detail::CurrentExceptionAsError();
  }
}

// ---- Callbacks selected by C++ type -----------------------------------------------------------

// Properties of a callback of a structural visit or mutation.  The callback accepts the values that
// have the type of its first parameter.
template <typename Callback>
struct StructuralCallback {
  using Info = FunctionInfo<Callback>;
  static_assert(Info::num_args > 0, "a structural callback requires a parameter for the value");
  using Parameter = std::tuple_element_t<0, typename Info::ArgType>;
  using Value = std::remove_cv_t<std::remove_reference_t<Parameter>>;

  static bool Accepts([[maybe_unused]] AnyView value) {
    if constexpr (std::is_same_v<Value, AnyView>) {
      return true;
    } else {
      return AnyUnsafe::CheckAnyViewStrict<Value>(value);
    }
  }
  // Converts a value that the callback accepts.
  static Value Convert(AnyView value) {
    if constexpr (std::is_same_v<Value, AnyView>) {
      return value;
    } else {
      return AnyUnsafe::CopyFromAnyViewAfterCheck<Value>(value);
    }
  }
};

// Properties of a callback (value[, state...][, TVMFFIDefRegionKind]).  The engine (the visitor or
// mutator that calls the callback) does the recursion.  The callback takes either none or all of
// the states that the engine's parent class defines.
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
  static constexpr size_t kNumStatesPassed = kNumArgs - 1 - (kTakesRegion ? 1 : 0);
  static_assert(kNumStatesPassed == 0 || kNumStatesPassed == kNumStates,
                "a structural callback takes (value[, state...][, TVMFFIDefRegionKind])");

  static decltype(auto) Call(Callback& callback, AnyView value, States states,
                             TVMFFIDefRegionKind region) {
    return CallWith(std::make_index_sequence<kNumStatesPassed>(), callback, value, states, region);
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

// ---- Callbacks selected by type index ---------------------------------------------------------

// A list of (type index, function) pairs.  The first pair whose type is the value's type or one of
// its ancestors is used.
class TVM_FFI_HIDDEN_ StructuralCallbackTable {
 public:
  struct Entry {
    int32_t type_index;
    // `function` has two parameters: the value, and an additional argument of the engine.
    bool takes_more;
    Function function;
  };

  // Appends a (type index, function) pair.  Fails: ValueError if the function is null.
  void Add(int32_t type_index, Function function, bool takes_more) {
    if (function == nullptr) {
      ThrowError("ValueError", "expected a function as callback " +
                                   std::to_string(entries_.size()) + ", got None");
    }
    entries_.push_back(Entry{type_index, takes_more, std::move(function)});
  }
  void Add(const Array<Tuple<int, Function>>& callbacks, bool takes_more) {
    for (const Tuple<int, Function>& callback : callbacks) {
      Add(callback.get<0>(), callback.get<1>(), takes_more);
    }
  }

  // Returns the first pair whose type is the value's type or one of its ancestors; nullptr if the
  // list contains no such pair.
  const Entry* Find(AnyView value) const {
    for (const Entry& entry : entries_) {
      if (IsInstance(value.type_index(), entry.type_index)) return &entry;
    }
    return nullptr;
  }

 private:
  // Returns true if a value of the type index `actual` is an instance of the type `target`.  Same
  // as RuntimeTypeIndexMatch, but `target` may be an index without a registered type.
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
