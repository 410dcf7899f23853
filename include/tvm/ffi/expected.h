// SPDX-License-Identifier: Apache-2.0
// Expected<T>: a T or an Error, for code that reports failures without throwing.
//
// One Any stores the value or the error; it is an error if the type index is kTVMFFIError.  If a
// function object returns an Expected with an error, the call succeeds with status 0 and the Error
// is its result value; the error is not raised.
#ifndef TVM_FFI_EXPECTED_H_
#define TVM_FFI_EXPECTED_H_

#include <tvm/ffi/any.h>

namespace tvm {
namespace ffi {

template <typename T>
class Expected;

// An error that converts to any Expected<T>: `return Unexpected(error);`.
template <typename E = Error>
class Unexpected {
 public:
  static_assert(std::is_base_of_v<Error, E>, "Unexpected holds an Error");
  explicit Unexpected(E error) : error_(std::move(error)) {}
  const E& error() const& noexcept { return error_; }
  E& error() & noexcept { return error_; }
  const E&& error() const&& noexcept { return std::move(error_); }
  E&& error() && noexcept { return std::move(error_); }

 private:
  E error_;
};
template <typename E>
Unexpected(E) -> Unexpected<E>;

namespace detail {

template <typename T>
inline constexpr bool is_expected_v = false;
template <typename T>
inline constexpr bool is_expected_v<Expected<T>> = true;
template <typename T>
inline constexpr bool is_unexpected_v = false;
template <typename E>
inline constexpr bool is_unexpected_v<Unexpected<E>> = true;

struct ExpectedUnsafe;

// Common base of Expected<T> and Expected<void>.
class ExpectedBase {
 public:
  int32_t type_index() const { return data_.type_index(); }
  bool is_err() const { return data_.type_index() == kTVMFFIError; }
  bool is_ok() const { return !is_err(); }
  bool has_value() const { return is_ok(); }
  Error error() const& {
    if (is_ok()) ThrowNoError();
    return AnyUnsafe::CopyFromAnyViewAfterCheck<Error>(data_);
  }
  Error error() && {
    if (is_ok()) ThrowNoError();
    return AnyUnsafe::MoveFromAnyAfterCheck<Error>(std::move(data_));
  }

 protected:
  ExpectedBase() = default;
  explicit ExpectedBase(Any data) : data_(std::move(data)) {}
  void ThrowIfError() const {
    if (TVM_FFI_PREDICT_FALSE(is_err())) throw error();
  }

  Any data_;
  friend struct ExpectedUnsafe;

 private:
  [[noreturn]] TVM_FFI_FAILURE_ static void ThrowNoError() {
    ThrowError("RuntimeError", std::string_view("Bad expected access: contains value, not error"));
  }
};

TVM_FFI_FAILURE_ inline Error CannotTreatError(const std::string& from, const std::string& to) {
  MessageStream text;
  if (IsOutOfRange(from)) {
    text << "Cannot convert to `" << to << "`: " << from;
    return MakeError("OverflowError", text.view(), std::string_view());
  }
  text << "Cannot treat type `" << from << "` as type `" << to << "`";
  return MakeError("TypeError", text.view(), std::string_view());
}

}  // namespace detail

// A T or an Error: result type of functions that do not throw.
template <typename T>
class Expected : public detail::ExpectedBase {
 public:
  static_assert(!std::is_same_v<T, Error> && !std::is_void_v<T>, "Expected<T> holds a value");

  Expected(T value) : ExpectedBase(Any(std::move(value))) {}      // NOLINT(*)
  Expected(Error error) : ExpectedBase(Any(std::move(error))) {}  // NOLINT(*)
  template <typename E>
  Expected(Unexpected<E> error)
      : ExpectedBase(Any(Error(std::move(error).error()))) {}  // NOLINT(*)
  template <typename U, typename = std::enable_if_t<std::is_convertible_v<U&&, T> &&
                                                    !std::is_same_v<std::decay_t<U>, T> &&
                                                    !std::is_base_of_v<Error, std::decay_t<U>> &&
                                                    !detail::is_expected_v<std::decay_t<U>> &&
                                                    !detail::is_unexpected_v<std::decay_t<U>>>>
  Expected(U&& value) : Expected(T(std::forward<U>(value))) {}  // NOLINT(*)
  template <typename U,
            typename = std::enable_if_t<(type_subsumes_v<T, U> || std::is_convertible_v<U, T>) &&
                                        !std::is_same_v<T, U> && !std::is_void_v<U>>>
  Expected(Expected<U> other) : ExpectedBase(Convert(std::move(other))) {}  // NOLINT(*)

  T value() const& {
    ThrowIfError();
    return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<T>(data_);
  }
  T value() && {
    ThrowIfError();
    return detail::AnyUnsafe::MoveFromAnyAfterCheck<T>(std::move(data_));
  }
  template <typename U = std::remove_cv_t<T>>
  T value_or(U&& other) const {
    if (is_err()) return T(std::forward<U>(other));
    return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<T>(data_);
  }
  // Returns the value as an Expected<U>.  An error is returned unchanged; if the value is not a U,
  // the result is a TypeError.
  template <typename U>
  Expected<U> as_or_error() const& {
    if (is_err()) return error();
    if (detail::AnyUnsafe::CheckAnyStrict<U>(data_)) {
      return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<U>(data_);
    }
    return detail::CannotTreatError(detail::AnyUnsafe::GetMismatchTypeInfo<U>(data_),
                                    detail::Type2Str<U>::v());
  }
  template <typename U>
  Expected<U> as_or_error() && {
    if (is_err()) return std::move(*this).error();
    if (detail::AnyUnsafe::CheckAnyStrict<U>(data_)) {
      return detail::AnyUnsafe::MoveFromAnyAfterCheck<U>(std::move(data_));
    }
    return detail::CannotTreatError(detail::AnyUnsafe::GetMismatchTypeInfo<U>(data_),
                                    detail::Type2Str<U>::v());
  }

 private:
  // Tag of the constructor that does not check its argument.  The caller guarantees that the
  // argument is a T or an Error.
  struct Checked {};
  Expected(Checked, Any data) : ExpectedBase(std::move(data)) {}

  template <typename U>
  static Any Convert(Expected<U>&& other) {
    if (other.is_err()) return Any(std::move(other).error());
    return Any(T(std::move(other).value()));
  }
  friend struct detail::ExpectedUnsafe;
};

template <>
class Expected<void> : public detail::ExpectedBase {
 public:
  Expected() = default;
  Expected(Error error) : ExpectedBase(Any(std::move(error))) {}  // NOLINT(*)
  template <typename E>
  Expected(Unexpected<E> error)
      : ExpectedBase(Any(Error(std::move(error).error()))) {}  // NOLINT(*)
  void value() const { ThrowIfError(); }

 private:
  struct Checked {};
  Expected(Checked, Any data) : ExpectedBase(std::move(data)) {}
  friend struct detail::ExpectedUnsafe;
};

namespace detail {

struct ExpectedUnsafe {
  // Returns an Expected that takes ownership of `data`, which must be a T or an Error.
  template <typename T>
  static Expected<T> MoveFromTVMFFIAny(TVMFFIAny data) {
    return Expected<T>(typename Expected<T>::Checked(), AnyUnsafe::MoveTVMFFIAnyRawToAny(data));
  }
  static TVMFFIAny MoveToTVMFFIAny(ExpectedBase&& expected) {
    return AnyUnsafe::MoveAnyToTVMFFIAny(std::move(expected.data_));
  }
  static const Any& GetData(const ExpectedBase& expected) { return expected.data_; }
  template <typename T>
  static T ValueAs(const ExpectedBase& expected) {
    return AnyUnsafe::CopyFromAnyViewAfterCheck<T>(expected.data_);
  }
};

}  // namespace detail

template <typename T>
inline constexpr bool use_default_type_traits_v<Expected<T>> = false;

template <typename T, typename U>
inline constexpr bool type_subsumes_v<Expected<T>, Expected<U>> = type_subsumes_v<T, U>;

template <typename T>
struct TypeTraits<Expected<T>> : TypeTraitsBase {
  static void CopyToAnyView(const Expected<T>& src, TVMFFIAny* result) {
    *result = *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(detail::ExpectedUnsafe::GetData(src));
  }
  static void MoveToAny(Expected<T> src, TVMFFIAny* result) {
    *result = detail::ExpectedUnsafe::MoveToTVMFFIAny(std::move(src));
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == kTVMFFIError || IsValue(src);
  }
  static Expected<T> CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    Any value(AnyView::CopyFromTVMFFIAny(*src));
    return detail::ExpectedUnsafe::MoveFromTVMFFIAny<T>(
        detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(value)));
  }
  static Expected<T> MoveFromAnyAfterCheck(TVMFFIAny* src) {
    TVMFFIAny data = *src;
    detail::SetIntPayload(src, kTVMFFINone, 0);
    return detail::ExpectedUnsafe::MoveFromTVMFFIAny<T>(data);
  }
  static std::optional<Expected<T>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    if constexpr (!std::is_void_v<T> && !std::is_same_v<T, Any>) {
      std::optional<T> value = TypeTraits<T>::TryCastFromAnyView(src);
      if (value.has_value()) return Expected<T>(*std::move(value));
    }
    return std::nullopt;
  }
  static std::string TypeStr() { return "Expected<" + detail::Type2Str<T>::v() + ">"; }
  static std::string TypeSchema() {
    return "{\"type\":\"Expected\",\"args\":[" + detail::TypeSchema<T>::v() + "," +
           detail::SchemaOfKey(StaticTypeKey::kTVMFFIError) + "]}";
  }

 private:
  static bool IsValue(const TVMFFIAny* src) {
    if constexpr (std::is_void_v<T>) {
      return src->type_index == kTVMFFINone;
    } else if constexpr (std::is_same_v<T, Any>) {
      return true;
    } else {
      return TypeTraits<T>::CheckAnyStrict(src);
    }
  }
};

namespace detail {

// Class of the left operand of `maker <<= message` in TVM_FFI_UNEXPECTED.
class TVM_FFI_HIDDEN_ UnexpectedMaker {
 public:
  UnexpectedMaker(const char* kind, const char* file, int line, const char* function)
      : kind_(kind), file_(file), line_(line), function_(function) {}

  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE Unexpected<Error> operator<<=(
      const MessageStream& message) const {
    MessageStream frame;
    frame << "  File \"" << file_ << "\", line " << line_ << ", in " << function_ << "\n";
    return Unexpected<Error>(MakeError(kind_, message.view(), frame.view()));
  }
  // Overload for messages whose last `<<` is a user-defined operator<<.  Such an operator returns a
  // std::ostream.
  template <typename Char, typename CharTraits>
  Unexpected<Error> operator<<=(std::basic_ostream<Char, CharTraits>& message) const {
    if (const MessageStream* text = MessageStream::Under(message)) return *this <<= *text;
    return *this <<= MessageStream();
  }

 private:
  const char* kind_;
  const char* file_;
  int line_;
  const char* function_;
};

// Collects a message with << and converts to Unexpected or Expected.  This class exists for source
// code outside these headers; the macros below do not use it.
class TVM_FFI_HIDDEN_ UnexpectedBuilder {
 public:
  UnexpectedBuilder(const char* kind, const char* file, int line, const char* function)
      : maker_(kind, file, line, function) {}

  template <typename V>
  UnexpectedBuilder&& operator<<(V&& value) && {
    message_ << std::forward<V>(value);
    return std::move(*this);
  }
  template <typename Ostream = std::ostream>
  UnexpectedBuilder&& operator<<(std::ostream& (*manipulator)(std::ostream&)) && {
    message_.template operator<< <Ostream>(manipulator);
    return std::move(*this);
  }
  template <typename Ostream = std::ostream>
  UnexpectedBuilder&& operator<<(std::ios_base& (*manipulator)(std::ios_base&)) && {
    message_.template operator<< <Ostream>(manipulator);
    return std::move(*this);
  }
  operator Unexpected<>() && { return maker_ <<= message_; }  // NOLINT(*)
  template <typename T>
  operator Expected<T>() && {  // NOLINT(*)
    return maker_ <<= message_;
  }

 private:
  UnexpectedMaker maker_;
  MessageStream message_;
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

// return TVM_FFI_UNEXPECTED(ValueError) << "text"; returns an error from a function with an
// Expected result.
#define TVM_FFI_UNEXPECTED(ErrorKind)                                                       \
  ::tvm::ffi::detail::UnexpectedMaker(#ErrorKind, __FILE__, __LINE__, TVM_FFI_FUNC_SIG) <<= \
      ::tvm::ffi::detail::MessageStream().stream()

// TVM_FFI_RET_CHECK(x > 0, ValueError) << "text"; returns an error from the enclosing function if
// the condition is false.
#define TVM_FFI_RET_CHECK(cond, ErrorKind) \
  while (!TVM_FFI_PREDICT_TRUE(cond))      \
  return TVM_FFI_UNEXPECTED(ErrorKind) << "Check failed: (" #cond ") is false: "

#define TVM_FFI_RET_CHECK_BINARY_OP_(name, op, x, y, ErrorKind)         \
  while (const ::tvm::ffi::detail::CheckFailure tvm_ffi_check_failure = \
             ::tvm::ffi::detail::LogCheck##name(x, y))                  \
  return TVM_FFI_UNEXPECTED(ErrorKind)                                  \
         << "Check failed: " #x " " #op " " #y " " << tvm_ffi_check_failure << ": "

// Check x < y, x > y, x <= y, x >= y, x == y, x != y.  The error message shows the values of x and
// y.
#define TVM_FFI_RET_CHECK_LT(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP_(_LT, <, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_GT(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP_(_GT, >, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_LE(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP_(_LE, <=, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_GE(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP_(_GE, >=, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_EQ(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP_(_EQ, ==, x, y, ErrorKind)
#define TVM_FFI_RET_CHECK_NE(x, y, ErrorKind) TVM_FFI_RET_CHECK_BINARY_OP_(_NE, !=, x, y, ErrorKind)

// TVM_FFI_RET_ICHECK macros: same as TVM_FFI_RET_CHECK..., but the error has the kind
// InternalError.
#define TVM_FFI_RET_ICHECK(cond) TVM_FFI_RET_CHECK(cond, InternalError)
#define TVM_FFI_RET_ICHECK_LT(x, y) TVM_FFI_RET_CHECK_LT(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_GT(x, y) TVM_FFI_RET_CHECK_GT(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_LE(x, y) TVM_FFI_RET_CHECK_LE(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_GE(x, y) TVM_FFI_RET_CHECK_GE(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_EQ(x, y) TVM_FFI_RET_CHECK_EQ(x, y, InternalError)
#define TVM_FFI_RET_ICHECK_NE(x, y) TVM_FFI_RET_CHECK_NE(x, y, InternalError)

#endif  // TVM_FFI_EXPECTED_H_
