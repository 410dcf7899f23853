// SPDX-License-Identifier: Apache-2.0
// NativeFunction: a hook stored as a raw C++ function pointer if possible, else as an ffi.Function.
//
// The pointer refers to an adapter function TVMFFIAny(Args...) noexcept, which returns an owned
// value or an Error.  Libraries exchange it as an OpaquePtr, so its calling convention is part of
// the binary contract: references are passed as addresses, AnyView and pointers in registers.
#ifndef TVM_FFI_REFLECTION_NATIVE_FUNCTION_H_
#define TVM_FFI_REFLECTION_NATIVE_FUNCTION_H_

#include <tvm/ffi/function.h>

namespace tvm {
namespace ffi {
namespace reflection {

template <typename FType>
class NativeFunctionView;
template <typename FType>
class NativeFunction;

namespace detail {

// Makes the names of ffi::detail visible in reflection::detail.
using namespace ::tvm::ffi::detail;  // NOLINT(*)

// Result type of a hook (a function that a type registers): R for functions that return R or
// Expected<R>.
template <typename R>
struct HookResult {
  using type = R;
};
template <typename R>
struct HookResult<Expected<R>> {
  using type = R;
};

// True if the platform ABI passes an argument of type Arg as an address or in registers.
template <typename Arg>
inline constexpr bool is_hook_argument_v =
    std::is_lvalue_reference_v<Arg> ||
    (std::is_trivially_copyable_v<Arg> && std::is_standard_layout_v<Arg>);

TVM_FFI_FAILURE_ inline Error PackedHookMismatch() {
  return Error("TypeError",
               "a hook function returned a value that is not of its declared result type",
               std::string());
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowNullHook() {
  ThrowError("ValueError",
             std::string_view("NativeFunctionView requires a non-null typed function"));
}

// Converts the exception that is being handled to an Error.
TVM_FFI_FAILURE_ inline Error CurrentExceptionAsError() {
  RaiseCurrentException();
  return MoveFromSafeCallRaised();
}

// Adapter that calls kFunction and converts its result or exception to a TVMFFIAny.
template <auto kFunction, typename FType>
struct NativeAdapter;
template <auto kFunction, typename R, typename... Args>
struct NativeAdapter<kFunction, R(Args...)> {
  static TVMFFIAny Call(Args... args) noexcept {
    using Result = decltype(kFunction(std::forward<Args>(args)...));
    if constexpr (is_expected_v<Result>) {
      return ExpectedUnsafe::MoveToTVMFFIAny(kFunction(std::forward<Args>(args)...));
    } else {
      try {
        if constexpr (is_unexpected_v<std::decay_t<Result>>) {
          Error error = kFunction(std::forward<Args>(args)...).error();
          return AnyUnsafe::MoveAnyToTVMFFIAny(Any(std::move(error)));
        } else if constexpr (std::is_void_v<Result>) {
          kFunction(std::forward<Args>(args)...);
          return AnyUnsafe::MoveAnyToTVMFFIAny(Any());
        } else {
          return AnyUnsafe::MoveAnyToTVMFFIAny(Any(R(kFunction(std::forward<Args>(args)...))));
        }
      } catch (...) {
        return AnyUnsafe::MoveAnyToTVMFFIAny(Any(CurrentExceptionAsError()));
      }
    }
  }
};

// Calls the hook that *cell contains: the address of a native function (OpaquePtr) or a Function.
// Returns the result of the hook or its error.
template <typename R, typename... Args>
Expected<R> CallHook(const TVMFFIAny* cell, Args... args) noexcept {
  static_assert((is_hook_argument_v<Args> && ...),
                "hook parameters must be references or trivially copyable values");
  if (TVM_FFI_PREDICT_TRUE(cell->type_index == kTVMFFIOpaquePtr)) {
    using Adapter = TVMFFIAny (*)(Args...);
    return ExpectedUnsafe::MoveFromTVMFFIAny<R>(
        reinterpret_cast<Adapter>(cell->v_ptr)(std::forward<Args>(args)...));
  }
  const auto* function = ObjectUnsafe::RawObjectPtrFromUnowned<FunctionObj>(cell->v_obj);
  AnyView packed[sizeof...(Args) + 1];
  PackedArgs::Fill(packed, args...);
  Any result;
  if (function->CallSafely(packed, static_cast<int32_t>(sizeof...(Args)), &result) != 0) {
    return MoveFromSafeCallRaised();
  }
  if (result.type_index() == kTVMFFIError) return std::move(result).template cast<Error>();
  if constexpr (std::is_void_v<R>) {
    return Expected<void>();
  } else {
    if (!AnyUnsafe::CheckAnyStrict<R>(result)) return PackedHookMismatch();
    return AnyUnsafe::MoveFromAnyAfterCheck<R>(std::move(result));
  }
}

}  // namespace detail

// Former name of reflection::detail, kept for source code written for earlier releases.
namespace details = detail;

// Borrowed hook: a native function pointer or an ffi.Function.
template <typename R, typename... Args>
class NativeFunctionView<R(Args...)> {
 public:
  // Type of the native function at the address in an OpaquePtr: an adapter that returns a
  // TVMFFIAny.
  using ABIType = TVMFFIAny (*)(Args...) noexcept;

  // Returns a view of kFunction.  kFunction either returns Expected<R> and does not throw, or
  // returns R and may throw.
  template <auto kFunction>
  static NativeFunctionView FromNative() {
    TVMFFIAny cell;
    detail::SetPointerPayload(
        &cell, kTVMFFIOpaquePtr,
        reinterpret_cast<void*>(&detail::NativeAdapter<kFunction, R(Args...)>::Call));
    return NativeFunctionView(cell);
  }
  // Borrows an ffi.Function.  The function must outlive the view.
  template <typename FResult, typename = std::enable_if_t<
                                  std::is_same_v<typename detail::HookResult<FResult>::type, R>>>
  NativeFunctionView(const TypedFunction<FResult(Args...)>& function) {  // NOLINT(*)
    if (function == nullptr) detail::ThrowNullHook();
    TypeTraits<Function>::CopyToAnyView(function.packed(), &cell_);
  }
  template <typename FResult>
  NativeFunctionView(TypedFunction<FResult(Args...)>&&) = delete;

  Expected<R> CallExpected(Args... args) const noexcept {
    return detail::CallHook<R, Args...>(&cell_, std::forward<Args>(args)...);
  }
  R operator()(Args... args) const { return CallExpected(std::forward<Args>(args)...).value(); }

 private:
  explicit NativeFunctionView(const TVMFFIAny& cell) { detail::CopyPayload(&cell_, cell); }

  TVMFFIAny cell_;
  friend struct TypeTraits<NativeFunctionView>;
  friend class NativeFunction<R(Args...)>;
};

// Owned hook: a native function pointer or an ffi.Function.
template <typename R, typename... Args>
class NativeFunction<R(Args...)> {
 public:
  using View = NativeFunctionView<R(Args...)>;

  static NativeFunction From(const View& view) { return NativeFunction(view); }
  template <auto kFunction>
  static NativeFunction FromNative() {
    return NativeFunction(View::template FromNative<kFunction>());
  }
  NativeFunction(const NativeFunctionView<R(Args...)>& view)  // NOLINT(*)
      : value_(AnyView::CopyFromTVMFFIAny(view.cell_)) {}
  template <typename FResult, typename = std::enable_if_t<
                                  std::is_same_v<typename detail::HookResult<FResult>::type, R>>>
  NativeFunction(const TypedFunction<FResult(Args...)>& function)  // NOLINT(*)
      : NativeFunction(View(function)) {}

  Expected<R> CallExpected(Args... args) const noexcept {
    return detail::CallHook<R, Args...>(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value_),
                                        std::forward<Args>(args)...);
  }
  R operator()(Args... args) const { return CallExpected(std::forward<Args>(args)...).value(); }

 private:
  explicit NativeFunction(Any value) : value_(std::move(value)) {}

  Any value_;
  friend struct TypeTraits<NativeFunction>;
};

namespace detail {

// Common conversion traits of NativeFunctionView and NativeFunction.
template <typename FType>
struct NativeFunctionTraits : TypeTraitsBase {
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == kTVMFFIFunction ||
           (src->type_index == kTVMFFIOpaquePtr && src->v_ptr != nullptr);
  }
  static std::string TypeStr() { return "Variant<void*, " + FunctionInfo<FType>::Sig() + ">"; }
  static std::string TypeSchema() {
    return "{\"type\":\"Variant\",\"args\":[" + SchemaOfKey(StaticTypeKey::kTVMFFIOpaquePtr) + "," +
           FunctionInfo<FType>::TypeSchema() + "]}";
  }
};

}  // namespace detail
}  // namespace reflection

template <typename FType>
struct TypeTraits<reflection::NativeFunctionView<FType>>
    : reflection::detail::NativeFunctionTraits<FType> {
  using View = reflection::NativeFunctionView<FType>;
  using Base = reflection::detail::NativeFunctionTraits<FType>;
  static void CopyToAnyView(const View& src, TVMFFIAny* result) {
    detail::CopyPayload(result, src.cell_);
  }
  static void MoveToAny(View src, TVMFFIAny* result) {
    detail::CopyPayload(result, src.cell_);
    detail::InplaceConvertAnyViewToAny(result);
  }
  static View CopyFromAnyViewAfterCheck(const TVMFFIAny* src) { return View(*src); }
  static std::optional<View> TryCastFromAnyView(const TVMFFIAny* src) {
    if (!Base::CheckAnyStrict(src)) return std::nullopt;
    return View(*src);
  }
  // Borrow the function instead of moving it out of the value, because a NativeFunctionView cannot
  // own a function.
  static View MoveFromAnyAfterCheck(TVMFFIAny* src) { return View(*src); }
};

template <typename FType>
struct TypeTraits<reflection::NativeFunction<FType>>
    : reflection::detail::NativeFunctionTraits<FType> {
  using Owner = reflection::NativeFunction<FType>;
  using Base = reflection::detail::NativeFunctionTraits<FType>;
  static void CopyToAnyView(const Owner& src, TVMFFIAny* result) {
    detail::CopyPayload(result, *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(src.value_));
  }
  static void MoveToAny(Owner src, TVMFFIAny* result) {
    *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(src.value_));
  }
  static Owner CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return Owner(Any(AnyView::CopyFromTVMFFIAny(*src)));
  }
  static Owner MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return Owner(detail::AnyUnsafe::MoveTVMFFIAnyToAny(src));
  }
  static std::optional<Owner> TryCastFromAnyView(const TVMFFIAny* src) {
    if (!Base::CheckAnyStrict(src)) return std::nullopt;
    return CopyFromAnyViewAfterCheck(src);
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_NATIVE_FUNCTION_H_
