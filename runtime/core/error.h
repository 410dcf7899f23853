// SPDX-License-Identifier: Apache-2.0
// Error objects, the exception that carries one inside the runtime, and the guard that is the
// only place where C++ exceptions meet the C ABI.
#ifndef TVM_FFI_RUNTIME_CORE_ERROR_H_
#define TVM_FFI_RUNTIME_CORE_ERROR_H_

#include <cxxabi.h>
#include <tvm/ffi/c_api.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "object.h"
#include "text.h"

namespace tvm::ffi::runtime {

// The cell's byte arrays point into the three strings, which the error owns.
struct ErrorObject : TVMFFIObject, TVMFFIErrorCell {
  using NestsDeeply = void;  // causes of causes
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

// cause and context are borrowed and may be null; the error takes references of its own.
Ref<ErrorObject> NewError(std::string_view kind, std::string_view message,
                          std::string_view backtrace, TVMFFIObjectHandle cause = nullptr,
                          TVMFFIObjectHandle context = nullptr);

// Makes `error` the pending error of the calling thread, in place of an earlier one.  Throws
// nothing, but the thread may end in a deleter of the earlier one.
void SetPendingError(Ref<ErrorObject> error);
// Like the above, with the current native stack as backtrace.  When memory runs out while the error
// is built, a shared preallocated MemoryError becomes pending.
void SetPendingError(std::string_view kind, std::string_view message);

// An FFI error in flight inside the runtime.
class Raised : public std::exception {
 public:
  explicit Raised(Ref<ErrorObject> error) : error_(std::move(error)) {}
  Raised(const Raised&) = default;
  Raised& operator=(const Raised&) = default;
  ~Raised() noexcept override {}  // as its base; the boundary has a reference of its own by then
  const char* what() const noexcept override { return error_->message.data; }
  const Ref<ErrorObject>& error() const { return error_; }

 private:
  Ref<ErrorObject> error_;
};

[[noreturn]] void RaiseMessage(const char* kind, std::string message);
// What a callee returns when the host language (Python) already has an exception pending.
inline constexpr int kHostExceptionPending = -2;
void DropPendingError();

// Throws the error that a callee left pending on this thread after it returned `code`, not 0.
[[noreturn]] void RaisePending(int code);

template <typename... Parts>
[[noreturn]] void Raise(const char* kind, const Parts&... parts) {
  RaiseMessage(kind, Concat(parts...));
}

// Turns the exception being handled into the thread's pending error; call from a catch block.
void SetPendingFromCurrentException();
// Prints the exception being handled and ends the process with status 255: for C functions whose
// signature has no way to report failure.
[[noreturn]] void ExitFromCurrentException(const char* function) noexcept;

// No C++ exception leaves it.  What passes is the unwinding of a thread that is being cancelled or
// calls pthread_exit: the C library insists on finishing that.  It has no C++ object that the
// handler's reference could be bound to, which UndefinedBehaviorSanitizer would report.
template <typename Body>
__attribute__((no_sanitize("null"))) int GuardBoundary(Body&& body) {
  try {
    body();
    return 0;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    SetPendingFromCurrentException();
  }
  return -1;
}

template <typename Body>
__attribute__((no_sanitize("null"))) auto GuardOrExit(const char* function, Body&& body) {
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    ExitFromCurrentException(function);
  }
}

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_ERROR_H_
