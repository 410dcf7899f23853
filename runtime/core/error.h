// SPDX-License-Identifier: Apache-2.0
// Error objects, pending errors, the exception class Raised, and GuardBoundary, which converts C++
// exceptions at the C ABI.
#ifndef TVM_FFI_RUNTIME_CORE_ERROR_H_
#define TVM_FFI_RUNTIME_CORE_ERROR_H_

#include <tvm/ffi/c_api.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "../platform/forced_unwinding.h"
#include "object.h"
#include "text.h"

namespace tvm::ffi::runtime {

// An ffi.Error.  The byte arrays of TVMFFIErrorCell (the fields after the object header) point into
// the three strings.
struct ErrorObject : TVMFFIObject, TVMFFIErrorCell {
  using NestsDeeply = void;  // errors may form a long chain of causes
  ErrorObject(std::string_view kind_text, std::string_view message_text,
              std::string_view backtrace_text, TVMFFIObjectHandle cause,
              TVMFFIObjectHandle context);
  ~ErrorObject() noexcept(false);
  ErrorObject(const ErrorObject&) = delete;
  ErrorObject& operator=(const ErrorObject&) = delete;

  std::string kind_storage;
  std::string message_storage;
  std::string backtrace_storage;
};

// Returns a new error.  `cause` and `context` are borrowed and may be null; the error adds a
// reference to each.
Ref<ErrorObject> NewError(std::string_view kind, std::string_view message,
                          std::string_view backtrace, TVMFFIObjectHandle cause = nullptr,
                          TVMFFIObjectHandle context = nullptr);

// Makes `error` the pending error of the calling thread and releases the previous one.  Does not
// throw, but is not noexcept: a cancelled thread may be unwound inside a deleter.
void SetPendingError(Ref<ErrorObject> error);
// Creates an error with the current native backtrace and makes it pending.  If memory runs out, a
// preallocated MemoryError, which all threads share, becomes pending instead.
void SetPendingError(std::string_view kind, std::string_view message);

// The C++ exception for an FFI error inside the runtime.
class Raised : public std::exception {
 public:
  explicit Raised(Ref<ErrorObject> error) : error_(std::move(error)) {}
  Raised(const Raised&) = default;
  Raised& operator=(const Raised&) = default;
  // noexcept like the destructor of the base class.  No deleter runs here, because GuardBoundary
  // owns another reference to the error.
  ~Raised() noexcept override {}
  const char* what() const noexcept override { return error_->message.data; }
  const Ref<ErrorObject>& error() const { return error_; }

 private:
  Ref<ErrorObject> error_;
};

[[noreturn]] void RaiseMessage(const char* kind, std::string message);
// The return code of a callee that left an exception pending in the host language (Python).
inline constexpr int kHostExceptionPending = -2;
// The pending error of the calling thread, owned; null if no error is pending.
ErrorObject*& PendingErrorSlot() noexcept;
// Releases the pending error of the calling thread.  Does nothing if no error is pending.
void DropPendingError();

// Throws the pending error of this thread after a callee returned the nonzero `code`.
[[noreturn]] void RaisePending(int code);

// Throws a new error whose message is the concatenation of the pieces.
template <typename... Pieces>
[[noreturn]] void Raise(const char* kind, const Pieces&... pieces) {
  RaiseMessage(kind, Concat(pieces...));
}

// Converts the exception being handled to the thread's pending error.  Call it in a catch block.
void SetPendingFromCurrentException();
// Prints the exception being handled and exits with status 255: for C functions that cannot return
// an error.
[[noreturn]] void ExitFromCurrentException(const char* function) noexcept;

// Calls `body` and converts every C++ exception to the pending error; returns 0 or -1.  Only the
// forced unwinding of a thread that is cancelled or calls pthread_exit passes through, as the C
// library requires.  Forced unwinding has no exception object, so the handler's reference is null,
// which UndefinedBehaviorSanitizer would report.
template <typename Body>
__attribute__((no_sanitize("null"))) int GuardBoundary(Body&& body) {
  try {
    body();
    return 0;
  } catch (const platform::ForcedUnwinding&) {
    throw;
  } catch (...) {
    SetPendingFromCurrentException();
  }
  return -1;
}

// Same as GuardBoundary, but returns the result of `body` and exits on an exception.
template <typename Body>
__attribute__((no_sanitize("null"))) auto GuardOrExit(const char* function, Body&& body) {
  try {
    return body();
  } catch (const platform::ForcedUnwinding&) {
    throw;
  } catch (...) {
    ExitFromCurrentException(function);
  }
}

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_ERROR_H_
