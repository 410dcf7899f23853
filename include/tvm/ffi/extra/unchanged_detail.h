// SPDX-License-Identifier: Apache-2.0
// Part of structural_mutate.h: UnchangedOr<T>, the result of mutating a value.
//
// Unchanged is a value with a separate type index.  A mutation that changes nothing therefore
// returns no new reference to the value, and None is a valid new value.
#ifndef TVM_FFI_EXTRA_UNCHANGED_DETAIL_H_
#define TVM_FFI_EXTRA_UNCHANGED_DETAIL_H_

#include <tvm/ffi/function_detail.h>

namespace tvm {
namespace ffi {

// The result that a mutation returns if it does not change the value.
struct Unchanged {
  TVMFFIAny CopyToTVMFFIAny() const noexcept {
    TVMFFIAny data;
    detail::SetIntPayload(&data, kTVMFFIUnchanged, 0);
    return data;
  }
  operator Any() const {  // NOLINT(*)
    return detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(CopyToTVMFFIAny());
  }
};

template <typename T>
class UnchangedOr;

namespace detail {

template <typename T>
inline constexpr bool is_unchanged_or_v = std::is_same_v<T, Unchanged>;
template <typename T>
inline constexpr bool is_unchanged_or_v<UnchangedOr<T>> = true;

inline Any MakeUnchanged() { return Unchanged(); }

// True if the constructor of UnchangedOr<T> accepts a U and converts it to T.
template <typename T, typename U>
inline constexpr bool unchanged_or_converts_v =
    std::is_convertible_v<U&&, T> && !std::is_same_v<std::decay_t<U>, T> &&
    !is_unchanged_or_v<std::decay_t<U>> && !std::is_base_of_v<Error, std::decay_t<U>> &&
    !is_expected_v<std::decay_t<U>> && !is_unexpected_v<std::decay_t<U>>;

}  // namespace detail

// Result of a mutation: a new value of type T, or Unchanged.
template <typename T>
class UnchangedOr {
  static_assert(detail::castable_v<T> && (std::is_same_v<T, Any> || TypeTraits<T>::storage_enabled),
                "UnchangedOr requires a type that Any can store");

 public:
  UnchangedOr(Unchanged) : data_(detail::MakeUnchanged()) {}  // NOLINT(*)
  UnchangedOr(T value) : data_(std::move(value)) {}           // NOLINT(*)
  template <typename U, typename = std::enable_if_t<detail::unchanged_or_converts_v<T, U>>>
  UnchangedOr(U&& value) : data_(T(std::forward<U>(value))) {}  // NOLINT(*)
  template <typename U,
            typename = std::enable_if_t<!std::is_same_v<T, U> &&
                                        (type_subsumes_v<T, U> || std::is_convertible_v<U, T>)>>
  UnchangedOr(UnchangedOr<U> other)  // NOLINT(*)
      : data_(other.IsUnchanged() ? detail::MakeUnchanged()
                                  : Any(T(std::move(other).ValueUnchecked()))) {}

  bool IsUnchanged() const { return data_.type_index() == kTVMFFIUnchanged; }
  // True if the result is Unchanged or identical to `original`.
  bool UnchangedOrSameAs(const T& original) const {
    if (IsUnchanged()) return true;
    if constexpr (std::is_same_v<T, Any>) {
      return data_.same_as(original);
    } else {
      return data_.same_as(Any(original));
    }
  }
  T ValueOrUnchanged(T original) && {
    if (IsUnchanged()) return original;
    return std::move(*this).ValueUnchecked();
  }
  // Returns the new value.  Only valid if IsUnchanged() is false.
  T ValueUnchecked() && { return detail::AnyUnsafe::MoveFromAnyAfterCheck<T>(std::move(data_)); }
  // Return the result as a U without a conversion; U may be another UnchangedOr.  If the result is
  // not a U, as() returns std::nullopt and as_or_throw() throws TypeError.
  template <typename U>
  std::optional<U> as() && {
    if (!detail::AnyUnsafe::CheckAnyStrict<U>(data_)) return std::nullopt;
    return detail::AnyUnsafe::MoveFromAnyAfterCheck<U>(std::move(data_));
  }
  template <typename U>
  U as_or_throw() && {
    if (!detail::AnyUnsafe::CheckAnyStrict<U>(data_)) {
      detail::ThrowCannotTreat(detail::AnyUnsafe::GetMismatchTypeInfo<U>(data_),
                               detail::Type2Str<U>::v());
    }
    return detail::AnyUnsafe::MoveFromAnyAfterCheck<U>(std::move(data_));
  }

 private:
  // Tag of the constructor that does not check its argument.  The caller guarantees that the
  // argument is a T or Unchanged.
  struct Checked {};
  UnchangedOr(Checked, Any data) : data_(std::move(data)) {}

  Any data_;
  template <typename, typename>
  friend struct TypeTraits;
};

static_assert(sizeof(UnchangedOr<Any>) == sizeof(TVMFFIAny), "an UnchangedOr is one Any");

template <typename T, typename U>
inline constexpr bool type_subsumes_v<UnchangedOr<T>, UnchangedOr<U>> = type_subsumes_v<T, U>;

// Conversion traits for the results of hooks and callbacks: other types are not converted to T.
template <typename T>
struct TypeTraits<UnchangedOr<T>> : TypeTraitsBase {
  using Self = UnchangedOr<T>;

  static void CopyToAnyView(const Self& src, TVMFFIAny* result) {
    detail::CopyPayload(result, *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(src.data_));
  }
  static void MoveToAny(Self src, TVMFFIAny* result) {
    *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(src.data_));
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFIUnchanged) return true;
    if constexpr (std::is_same_v<T, Any>) {
      return src->type_index != kTVMFFIError;
    } else {
      return TypeTraits<T>::CheckAnyStrict(src);
    }
  }
  static Self CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return Self(typename Self::Checked(), Any(AnyView::CopyFromTVMFFIAny(*src)));
  }
  static Self MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return Self(typename Self::Checked(), detail::AnyUnsafe::MoveTVMFFIAnyToAny(src));
  }
  static std::string TypeStr() { return "UnchangedOr<" + detail::Type2Str<T>::v() + ">"; }
  static std::string TypeSchema() {
    return "{\"type\":\"UnchangedOr\",\"args\":[" + detail::TypeSchema<T>::v() + "]}";
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_UNCHANGED_DETAIL_H_
