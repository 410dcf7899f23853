// SPDX-License-Identifier: Apache-2.0
// Error: the C++ exception class, and the macros TVM_FFI_THROW and TVM_FFI_CHECK.
//
// An Error may be thrown in one library and caught in another that was compiled separately, so the
// name of the class, the order of its base classes and its virtual functions must not change.
// libtvm_ffi creates the error objects.  The code that runs after a failed check is not inlined.
#ifndef TVM_FFI_ERROR_H_
#define TVM_FFI_ERROR_H_

#include <tvm/ffi/memory.h>
#include <tvm/ffi/message_detail.h>

#include <vector>

// These macros have no effect, because libtvm_ffi decides how it creates backtraces.  They are
// defined only for source code that tests them.
#ifndef TVM_FFI_USE_LIBBACKTRACE
#define TVM_FFI_USE_LIBBACKTRACE 1
#endif
#ifndef TVM_FFI_BACKTRACE_ON_SEGFAULT
#define TVM_FFI_BACKTRACE_ON_SEGFAULT 1
#endif
// If this macro is nonzero, TVM_FFI_THROW prints the error before it throws, as
// TVM_FFI_LOG_AND_THROW always does.
#ifndef TVM_FFI_ALWAYS_LOG_BEFORE_THROW
#define TVM_FFI_ALWAYS_LOG_BEFORE_THROW 0
#endif

namespace tvm {
namespace ffi {

// Object class of Error: the object header and a TVMFFIErrorCell.
class ErrorObj : public Object, public TVMFFIErrorCell {
 public:
  ErrorObj() : TVMFFIErrorCell{} {}
  ErrorObj(const ErrorObj&) = delete;
  ErrorObj& operator=(const ErrorObj&) = delete;
  ~ErrorObj() {
    detail::ObjectUnsafe::DecRefObjectHandle(cause_chain);
    detail::ObjectUnsafe::DecRefObjectHandle(extra_context);
  }

  static constexpr int32_t _type_index = kTVMFFIError;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIError, ErrorObj, Object)
};

namespace detail {

// Returns an owned handle of a new error; throws std::bad_alloc if memory is exhausted.
TVM_FFI_FAILURE_ inline TVMFFIObject* NewErrorObject(std::string_view kind,
                                                     std::string_view message,
                                                     std::string_view backtrace,
                                                     TVMFFIObjectHandle cause_chain = nullptr,
                                                     TVMFFIObjectHandle extra_context = nullptr) {
  TVMFFIByteArray kind_bytes{kind.data(), kind.size()};
  TVMFFIByteArray message_bytes{message.data(), message.size()};
  TVMFFIByteArray backtrace_bytes{backtrace.data(), backtrace.size()};
  TVMFFIObjectHandle out = nullptr;
  if (TVMFFIErrorCreateWithCauseAndExtraContext(&kind_bytes, &message_bytes, &backtrace_bytes,
                                                cause_chain, extra_context, &out) != 0) {
    throw std::bad_alloc();
  }
  return static_cast<TVMFFIObject*>(out);
}

}  // namespace detail

// Exception with a kind, a message and a backtrace.  It is also a reference to an ErrorObj.
class TVM_FFI_DLL Error : public ObjectRef, public std::exception {
 public:
  Error(std::string kind, std::string message, std::string backtrace)
      : Error(detail::NewErrorObject(kind, message, backtrace)) {}
  // Creates an error with a cause and a context: `cause_chain` must convert to
  // std::optional<Error>, `extra_context` to std::optional<ObjectRef>.
  template <typename Cause, typename Context, typename E = Error, typename Ref = ObjectRef>
  Error(std::string kind, std::string message, std::string backtrace, const Cause& cause_chain,
        const Context& extra_context)
      : Error(detail::NewErrorObject(kind, message, backtrace,
                                     HandleOf(std::optional<E>(cause_chain)),
                                     HandleOf(std::optional<Ref>(extra_context)))) {}
  Error(std::string kind, std::string message, const TVMFFIByteArray* backtrace)
      : Error(detail::NewErrorObject(kind, message,
                                     std::string_view(backtrace->data, backtrace->size))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Error, ObjectRef, ErrorObj);

  std::string kind() const { return std::string(ViewOf(get()->kind)); }
  std::string message() const { return std::string(ViewOf(get()->message)); }
  // Returns the backtrace, most recent call first.
  std::string backtrace() const { return std::string(ViewOf(get()->backtrace)); }
  // Some members are templates to save compile time: only files that use a template instantiate it.
  template <typename T = Error>
  std::optional<T> cause_chain() const {
    return Retained<T>(get()->cause_chain);
  }
  template <typename T = ObjectRef>
  std::optional<T> extra_context() const {
    return Retained<T>(get()->extra_context);
  }
  // Replaces or extends the backtrace, as `update_mode` (a TVMFFIBacktraceUpdateMode) selects.
  void UpdateBacktrace(const TVMFFIByteArray* backtrace, int32_t update_mode) {
    ErrorObj* error = static_cast<ErrorObj*>(get_mutable());
    error->update_backtrace(detail::ObjectUnsafe::GetHeader(error), backtrace, update_mode);
  }
  // Returns the lines of the backtrace in Python's order, oldest call first.
  template <typename Text = std::string>
  Text TracebackMostRecentCallLast() const {
    std::string_view text = ViewOf(get()->backtrace);
    Text reversed;
    size_t end = text.rfind('\n');
    while (end != std::string_view::npos) {
      size_t before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
      size_t begin = before == std::string_view::npos ? 0 : before + 1;
      if (begin < end) reversed.append(text.data() + begin, end - begin + 1);
      end = before;
    }
    return reversed;
  }
  template <typename Text = std::string>
  Text FullMessage() const {
    return "Traceback (most recent call last):\n" + TracebackMostRecentCallLast() + kind() + ": " +
           message() + "\n";
  }
  const char* what() const noexcept override { return get()->message.data; }

 private:
  explicit Error(TVMFFIObject* owned)
      : ObjectRef(detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(owned)) {}
  static std::string_view ViewOf(const TVMFFIByteArray& bytes) {
    return std::string_view(bytes.data, bytes.size);
  }
  template <typename T>
  static TVMFFIObjectHandle HandleOf(const std::optional<T>& ref) {
    return ref ? detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(*ref) : nullptr;
  }
  template <typename T>
  static std::optional<T> Retained(TVMFFIObjectHandle handle) {
    if (handle == nullptr) return std::nullopt;
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<T>(
        detail::ObjectUnsafe::ObjectPtrFromUnowned<Object>(static_cast<TVMFFIObject*>(handle)));
  }
};

namespace detail {

// Returns an Error that takes ownership of the reference to an error object.
inline Error ErrorFromOwned(TVMFFIObject* owned) {
  return ObjectUnsafe::ObjectRefFromOwned<Error>(owned);
}

TVM_FFI_FAILURE_ inline Error MakeError(std::string_view kind, std::string_view message,
                                        std::string_view backtrace) {
  return ErrorFromOwned(NewErrorObject(kind, message, backtrace));
}

}  // namespace detail

// Returns an Error of kind EnvErrorAlreadySet.  It means that the host language, such as Python,
// already has a pending exception.
inline Error EnvErrorAlreadySet() {
  return detail::MakeError("EnvErrorAlreadySet", std::string_view(), std::string_view());
}

namespace detail {

// Takes the pending error out of the thread's error slot and returns it.  If a call failed but the
// slot is empty, the host language has a pending exception; the function then returns
// EnvErrorAlreadySet().
inline Error MoveFromSafeCallRaised() {
  TVMFFIObjectHandle raised = nullptr;
  TVMFFIErrorMoveFromRaised(&raised);
  if (raised == nullptr) return EnvErrorAlreadySet();
  return ErrorFromOwned(static_cast<TVMFFIObject*>(raised));
}

inline void SetSafeCallRaised(const Error& error) {
  TVMFFIErrorSetRaised(ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(error));
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowRaised() { throw MoveFromSafeCallRaised(); }

// Throws the pending error if `code`, the result of a C ABI function, is not 0.
inline void CheckSafeCall(int code) {
  if (TVM_FFI_PREDICT_FALSE(code != 0)) ThrowRaised();
}

// Converts the exception that is being handled to the pending error of the thread and returns -1.
// Must be called inside a catch handler.  TVM_FFI_NO_NULL_CHECK_ is needed for thread cancellation:
// glibc then unwinds without an exception object, so the reference in the catch clause is null.
TVM_FFI_FAILURE_ TVM_FFI_NO_NULL_CHECK_ inline int RaiseCurrentException() {
  try {
    throw;
  } catch (const Error& error) {
    SetSafeCallRaised(error);
  } catch (const std::bad_alloc&) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "out of memory");
  } catch (const std::exception& error) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", error.what());
  } catch (const ForcedUnwinding&) {
    throw;  // the thread is being cancelled: glibc requires that the exception is rethrown
  } catch (...) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", "C++ exception of unknown type");
  }
  return -1;
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowError(std::string_view kind,
                                                     std::string_view message) {
  throw ErrorFromOwned(NewErrorObject(kind, message, std::string_view()));
}
[[noreturn]] TVM_FFI_FAILURE_ TVM_FFI_PRINTF_(2, 3) inline void ThrowFormatted(const char* kind,
                                                                               const char* format,
                                                                               ...) {
  MessageStream text;
  va_list arguments;
  va_start(arguments, format);
  text.PrintList(format, arguments);
  va_end(arguments);
  ThrowError(std::string_view(kind), text.view());
}
[[noreturn]] inline void ThrowError(const char* kind, const MessageStream& message) {
  ThrowError(std::string_view(kind), message.view());
}

// Class of the left operand of `thrower <<= message` in TVM_FFI_THROW.  C++ evaluates the right
// operand of <<= first, so the code that computes the message cannot overwrite the backtrace, which
// is in a buffer of the thread.
template <bool log>
class TVM_FFI_HIDDEN_ ErrorThrower {
 public:
  // A constructor lets the macro use parentheses instead of braces, because a comma between braces
  // would separate macro arguments if TVM_FFI_THROW is itself an argument of a macro.
  ErrorThrower(const char* kind, const TVMFFIByteArray* backtrace)
      : kind_(kind), backtrace_(backtrace) {}

  [[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE void operator<<=(const MessageStream& message) {
    Error error =
        MakeError(kind_, message.view(), std::string_view(backtrace_->data, backtrace_->size));
    if constexpr (log) std::fprintf(stderr, "%s", error.FullMessage().c_str());
    throw error;
  }
  // Overload for messages whose last `<<` is a user-defined operator<<.  Such an operator returns a
  // std::ostream.
  template <typename Char, typename CharTraits>
  [[noreturn]] void operator<<=(std::basic_ostream<Char, CharTraits>& message) {
    if (const MessageStream* text = MessageStream::Under(message)) *this <<= *text;
    *this <<= MessageStream();
  }

 private:
  const char* kind_;
  const TVMFFIByteArray* backtrace_;
};

// Collects a message in stream() and throws the error in the destructor.  This class exists for
// source code outside these headers; the macros below do not use it.
template <typename Text>
class TVM_FFI_HIDDEN_ ErrorBuilderWith {
  // The types depend on Text, so that only files that use this class instantiate them.
  using Cause = std::conditional_t<(sizeof(Text) > 0), Error, Text>;
  using Context = std::conditional_t<(sizeof(Text) > 0), ObjectRef, Text>;

 public:
  ErrorBuilderWith(std::string kind, std::string backtrace, bool log_before_throw)
      : kind_(std::move(kind)), backtrace_(std::move(backtrace)), log_(log_before_throw) {}
  ErrorBuilderWith(Text kind, const TVMFFIByteArray* backtrace, bool log_before_throw)
      : ErrorBuilderWith(std::move(kind), std::string(backtrace->data, backtrace->size),
                         log_before_throw) {}
  ErrorBuilderWith(Text kind, Text backtrace, bool log_before_throw,
                   std::optional<Cause> cause_chain, std::optional<Context> extra_context)
      : ErrorBuilderWith(std::move(kind), std::move(backtrace), log_before_throw) {
    cause_chain_ = std::move(cause_chain);
    extra_context_ = std::move(extra_context);
  }
  ErrorBuilderWith(Text kind, const TVMFFIByteArray* backtrace, bool log_before_throw,
                   std::optional<Cause> cause_chain, std::optional<Context> extra_context)
      : ErrorBuilderWith(std::move(kind), std::string(backtrace->data, backtrace->size),
                         log_before_throw, std::move(cause_chain), std::move(extra_context)) {}
  ErrorBuilderWith(const ErrorBuilderWith&) = delete;
  ErrorBuilderWith& operator=(const ErrorBuilderWith&) = delete;
  [[noreturn]] ~ErrorBuilderWith() noexcept(false) {
    Error error(std::move(kind_), stream_.str(), std::move(backtrace_), std::move(cause_chain_),
                std::move(extra_context_));
    if (log_) std::fprintf(stderr, "%s", error.FullMessage().c_str());
    throw error;
  }
  MessageStream& stream() { return stream_; }

 private:
  std::string kind_;
  std::string backtrace_;
  bool log_;
  MessageStream stream_;
  std::optional<Cause> cause_chain_;
  std::optional<Context> extra_context_;
};
using ErrorBuilder = ErrorBuilderWith<std::string>;

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowTypeError(const std::string& message) {
  ThrowError("TypeError", message);
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowOutOfRange(const std::string& mismatch,
                                                          const std::string& to) {
  MessageStream text;
  text << "Cannot convert to `" << to << "`: " << mismatch;
  ThrowError("OverflowError", text);
}
[[noreturn]] inline void ThrowCannotTreat(const std::string& from, const std::string& to) {
  if (IsOutOfRange(from)) ThrowOutOfRange(from, to);
  MessageStream text;
  text << "Cannot treat type `" << from << "` as type `" << to << "`";
  ThrowError("TypeError", text);
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowCannotConvert(const std::string& from,
                                                             const std::string& to) {
  if (IsOutOfRange(from)) ThrowOutOfRange(from, to);
  MessageStream text;
  text << "Cannot convert from type `" << from << "` to `" << to << "`";
  ThrowError("TypeError", text);
}
[[noreturn]] inline void ThrowNullReference(const char* type_key) {
  ThrowFormatted("InternalError", "expected a `%s`, got a null reference", type_key);
}

// Returns `value` as type T, which may be a reference type.
template <typename T>
T Checked(T&& value) {
  return static_cast<T&&>(value);
}

// ---- Comparisons of the check macros ----------------------------------------------------------

// Result of a comparison by a check macro: the operands as text, or nullptr if the comparison
// succeeded.
struct TVM_FFI_HIDDEN_ CheckFailure {
  MessageStream* operands;  // text such as "(1 vs. 2) "; owned, freed by operator<<
  explicit operator bool() const { return TVM_FFI_PREDICT_FALSE(operands != nullptr); }
};

TVM_FFI_FAILURE_ inline MessageStream& operator<<(MessageStream& out, const CheckFailure& failure) {
  out << failure.operands->view();
  delete failure.operands;
  return out;
}

template <typename X, typename Y>
TVM_FFI_FAILURE_ CheckFailure DescribeOperands(const X& x, const Y& y) {
  MessageStream out;
  out << "(" << x << " vs. " << y << ") ";
  return {new MessageStream(std::move(out))};
}

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif
#define TVM_FFI_DEFINE_LOG_CHECK_(name, op)                    \
  template <typename X, typename Y>                            \
  inline CheckFailure LogCheck##name(const X& x, const Y& y) { \
    if (TVM_FFI_PREDICT_TRUE(x op y)) return {nullptr};        \
    return DescribeOperands(x, y);                             \
  }
TVM_FFI_DEFINE_LOG_CHECK_(_LT, <)
TVM_FFI_DEFINE_LOG_CHECK_(_GT, >)
TVM_FFI_DEFINE_LOG_CHECK_(_LE, <=)
TVM_FFI_DEFINE_LOG_CHECK_(_GE, >=)
TVM_FFI_DEFINE_LOG_CHECK_(_EQ, ==)
TVM_FFI_DEFINE_LOG_CHECK_(_NE, !=)
#undef TVM_FFI_DEFINE_LOG_CHECK_
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

// ---- Throwing ---------------------------------------------------------------------------------

#define TVM_FFI_THROW_(ErrorKind, log)                                            \
  ::tvm::ffi::detail::ErrorThrower<(log)>(                                        \
      #ErrorKind, ::TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0)) <<= \
      ::tvm::ffi::detail::MessageStream().stream()

// TVM_FFI_THROW(ValueError) << "text" << value; throws an Error of kind ValueError.  Any identifier
// may be the kind.
#define TVM_FFI_THROW(ErrorKind) TVM_FFI_THROW_(ErrorKind, TVM_FFI_ALWAYS_LOG_BEFORE_THROW != 0)
// Same as TVM_FFI_THROW, but also prints the error to stderr.  Use it where the exception may
// remain uncaught.
#define TVM_FFI_LOG_AND_THROW(ErrorKind) TVM_FFI_THROW_(ErrorKind, true)

// ---- Checks -----------------------------------------------------------------------------------
// The check macros are statements that can be the branch of an `if` with an `else`.  The expansion
// ends in a string literal, so code that uses a macro may append another literal or `<< value`.

// TVM_FFI_CHECK(x > 0, ValueError) << "text"; throws an Error of kind ValueError if the condition
// is false.
#define TVM_FFI_CHECK(cond, ErrorKind) \
  TVM_FFI_PREDICT_TRUE(cond)           \
  ? static_cast<void>(0) : TVM_FFI_THROW(ErrorKind) << "Check failed: (" #cond ") is false: "

// Implementation of the comparison macros below, such as TVM_FFI_CHECK_LT.
#define TVM_FFI_CHECK_BINARY_OP(name, op, x, y, ErrorKind)                                    \
  while (const ::tvm::ffi::detail::CheckFailure tvm_ffi_check_failure =                       \
             ::tvm::ffi::detail::LogCheck##name(x, y))                                        \
  TVM_FFI_THROW(ErrorKind) << "Check failed: " #x " " #op " " #y " " << tvm_ffi_check_failure \
                           << ": "

// Check x < y, x > y, x <= y, x >= y, x == y, x != y.  The error message shows the values of x and
// y.
#define TVM_FFI_CHECK_LT(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_LT, <, x, y, ErrorKind)
#define TVM_FFI_CHECK_GT(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_GT, >, x, y, ErrorKind)
#define TVM_FFI_CHECK_LE(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_LE, <=, x, y, ErrorKind)
#define TVM_FFI_CHECK_GE(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_GE, >=, x, y, ErrorKind)
#define TVM_FFI_CHECK_EQ(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_EQ, ==, x, y, ErrorKind)
#define TVM_FFI_CHECK_NE(x, y, ErrorKind) TVM_FFI_CHECK_BINARY_OP(_NE, !=, x, y, ErrorKind)
// Throws if x is null; otherwise, the value of the macro is x.  The macro evaluates x twice.  The
// call of Checked() prevents a compiler warning about an unused value.
#define TVM_FFI_CHECK_NOTNULL(x, ErrorKind)                                                       \
  ((x) == nullptr ? TVM_FFI_THROW(ErrorKind) << "Check not null: " #x " " : static_cast<void>(0), \
   ::tvm::ffi::detail::Checked<decltype((x))>(x))

// TVM_FFI_ICHECK macros throw InternalError: use them for conditions that are false only if this
// code has a bug.
#define TVM_FFI_ICHECK(cond) TVM_FFI_CHECK(cond, InternalError)
#define TVM_FFI_ICHECK_LT(x, y) TVM_FFI_CHECK_LT(x, y, InternalError)
#define TVM_FFI_ICHECK_GT(x, y) TVM_FFI_CHECK_GT(x, y, InternalError)
#define TVM_FFI_ICHECK_LE(x, y) TVM_FFI_CHECK_LE(x, y, InternalError)
#define TVM_FFI_ICHECK_GE(x, y) TVM_FFI_CHECK_GE(x, y, InternalError)
#define TVM_FFI_ICHECK_EQ(x, y) TVM_FFI_CHECK_EQ(x, y, InternalError)
#define TVM_FFI_ICHECK_NE(x, y) TVM_FFI_CHECK_NE(x, y, InternalError)
#define TVM_FFI_ICHECK_NOTNULL(x) TVM_FFI_CHECK_NOTNULL(x, InternalError)

#ifdef NDEBUG
#define TVM_FFI_DCHECK(x) \
  while (false) TVM_FFI_ICHECK(x)
#define TVM_FFI_DCHECK_LT(x, y) \
  while (false) TVM_FFI_ICHECK_LT(x, y)
#define TVM_FFI_DCHECK_GT(x, y) \
  while (false) TVM_FFI_ICHECK_GT(x, y)
#define TVM_FFI_DCHECK_LE(x, y) \
  while (false) TVM_FFI_ICHECK_LE(x, y)
#define TVM_FFI_DCHECK_GE(x, y) \
  while (false) TVM_FFI_ICHECK_GE(x, y)
#define TVM_FFI_DCHECK_EQ(x, y) \
  while (false) TVM_FFI_ICHECK_EQ(x, y)
#define TVM_FFI_DCHECK_NE(x, y) \
  while (false) TVM_FFI_ICHECK_NE(x, y)
#define TVM_FFI_DCHECK_NOTNULL(x) (x)
#else
// Checks for debug builds.  With NDEBUG, the conditions are compiled but not evaluated, and
// TVM_FFI_DCHECK_NOTNULL(x) is x.
#define TVM_FFI_DCHECK(x) TVM_FFI_ICHECK(x)
#define TVM_FFI_DCHECK_LT(x, y) TVM_FFI_ICHECK_LT(x, y)
#define TVM_FFI_DCHECK_GT(x, y) TVM_FFI_ICHECK_GT(x, y)
#define TVM_FFI_DCHECK_LE(x, y) TVM_FFI_ICHECK_LE(x, y)
#define TVM_FFI_DCHECK_GE(x, y) TVM_FFI_ICHECK_GE(x, y)
#define TVM_FFI_DCHECK_EQ(x, y) TVM_FFI_ICHECK_EQ(x, y)
#define TVM_FFI_DCHECK_NE(x, y) TVM_FFI_ICHECK_NE(x, y)
#define TVM_FFI_DCHECK_NOTNULL(x) TVM_FFI_ICHECK_NOTNULL(x)
#endif

#endif  // TVM_FFI_ERROR_H_
