// SPDX-License-Identifier: Apache-2.0
// Error objects and the pending error of each thread.
#include "error.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "../platform/probe.h"
#include "backtrace.h"

namespace tvm::ffi::runtime {
namespace {

// The pending error of the thread; owned.  The variable is a plain pointer, because a variable
// without a destructor stays usable while destructors of other thread-local variables run.
thread_local ErrorObject* pending_error = nullptr;

Ref<ErrorObject> TakePendingError() noexcept {
  return Ref<ErrorObject>::Adopt(std::exchange(pending_error, nullptr));
}

// Releases a pending error that no caller took before the thread ended.
struct ReleaseAtThreadExit {
  ~ReleaseAtThreadExit() noexcept(false) { DropPendingError(); }
};

void UpdateBacktrace(TVMFFIObjectHandle self, const TVMFFIByteArray* backtrace, int32_t mode) {
  auto* error = static_cast<ErrorObject*>(static_cast<TVMFFIObject*>(self));
  try {
    // `backtrace` may point into backtrace_storage, so do not change backtrace_storage before the
    // swap.
    std::string text(View(*backtrace));
    if (mode != kTVMFFIBacktraceUpdateModeReplace) text.insert(0, error->backtrace_storage);
    error->backtrace_storage.swap(text);
    error->backtrace = BorrowBytes(error->backtrace_storage);
  } catch (...) {
    // If memory runs out, the error keeps its old backtrace, because the callers of this function
    // cannot handle a failure.
  }
}

// The function update_backtrace of the shared MemoryError.  Does nothing, because one thread must
// not change an error that all threads share.
void IgnoreBacktraceUpdate(TVMFFIObjectHandle, const TVMFFIByteArray*, int32_t) {}

// The preallocated MemoryError: an immortal object that all threads share.
const Ref<ErrorObject>& OutOfMemoryError() {
  static const auto* error = [] {
    auto shared = NewError("MemoryError", "out of memory while raising an error", "");
    shared->update_backtrace = &IgnoreBacktraceUpdate;
    return new Ref<ErrorObject>(std::move(shared));
  }();
  return *error;
}

// Allocates the shared MemoryError while the library is loaded, when there is still memory.
[[maybe_unused]] const Ref<ErrorObject>& reserve_out_of_memory_error = OutOfMemoryError();

}  // namespace

ErrorObject::ErrorObject(std::string_view kind_text, std::string_view message_text,
                         std::string_view backtrace_text, TVMFFIObjectHandle cause,
                         TVMFFIObjectHandle context)
    : kind_storage(kind_text), message_storage(message_text), backtrace_storage(backtrace_text) {
  kind = BorrowBytes(kind_storage);
  message = BorrowBytes(message_storage);
  backtrace = BorrowBytes(backtrace_storage);
  update_backtrace = &UpdateBacktrace;
  cause_chain = Ref<TVMFFIObject>::Share(cause).release();
  extra_context = Ref<TVMFFIObject>::Share(context).release();
}

ErrorObject::~ErrorObject() noexcept(false) {
  // Release the cause and the context that the fields contain now, because C++ clients may have
  // replaced the objects that the constructor stored.
  auto context = Ref<TVMFFIObject>::Adopt(extra_context);
  auto cause = Ref<TVMFFIObject>::Adopt(cause_chain);
}

Ref<ErrorObject> NewError(std::string_view kind, std::string_view message,
                          std::string_view backtrace, TVMFFIObjectHandle cause,
                          TVMFFIObjectHandle context) {
  auto error = NewObject<ErrorObject>(kTVMFFIError, 0, kind, message, backtrace, cause, context);
  TVM_FFI_PROBE2("error", error->kind.data, error->message.data);
  return error;
}

ErrorObject*& PendingErrorSlot() noexcept { return pending_error; }

void DropPendingError() {
  // A destructor that runs here may call a function that fails and leaves a new pending error.
  // After kMaxAttempts errors, leak the last one rather than loop forever.
  constexpr int kMaxAttempts = 64;
  for (int attempt = 0; pending_error != nullptr; ++attempt) {
    Ref<ErrorObject> dropped = TakePendingError();
    if (attempt == kMaxAttempts) dropped.release();
  }
}

void SetPendingError(Ref<ErrorObject> error) {
  static thread_local ReleaseAtThreadExit release_at_thread_exit;
  DropPendingError();
  pending_error = static_cast<ErrorObject*>(error.release());
}

void SetPendingError(std::string_view kind, std::string_view message) {
  Ref<ErrorObject> error;
  try {
    error = NewError(kind, message, CurrentBacktrace());
  } catch (...) {
    error = OutOfMemoryError();
  }
  SetPendingError(std::move(error));
}

void RaiseMessage(const char* kind, std::string message) {
  throw Raised(NewError(kind, message, CurrentBacktrace()));
}

void RaisePending(int code) {
  // Raise the kind EnvErrorAlreadySet: an error of another kind would hide the exception that is
  // pending in the host language.
  if (code == kHostExceptionPending) RaiseMessage("EnvErrorAlreadySet", "");
  Ref<ErrorObject> error = TakePendingError();
  if (!error) {
    RaiseMessage("RuntimeError", "the called function returned a nonzero code but set no error");
  }
  throw Raised(std::move(error));
}

void SetPendingFromCurrentException() {
  try {
    throw;
  } catch (const Raised& raised) {
    SetPendingError(raised.error());
  } catch (const std::bad_alloc&) {
    SetPendingError("MemoryError", "out of memory");
  } catch (const std::exception& error) {
    SetPendingError("InternalError", error.what());
  } catch (...) {
    SetPendingError("InternalError", "C++ exception of unknown type");
  }
}

void ExitFromCurrentException(const char* function) noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "Exception caught during %s:\n%s\n", function, error.what());
  } catch (...) {
    std::fprintf(stderr, "Exception caught during %s:\nC++ exception of unknown type\n", function);
  }
  std::exit(-1);
}

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result) {
  *result = TakePendingError().release();
}

void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) {
  SetPendingError(Ref<ErrorObject>::Share(error));
}

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStrParts(kind, &message, 1);
}

void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** message_parts,
                                       int32_t num_parts) {
  if (kind == nullptr) {
    std::fputs("TVMFFIErrorSetRaisedFromCStr: kind is NULL\n", stderr);
    std::abort();
  }
  std::string message;
  try {
    for (int32_t i = 0; i < num_parts; ++i) {
      if (message_parts[i] != nullptr) message += message_parts[i];
    }
  } catch (...) {
    return SetPendingFromCurrentException();
  }
  SetPendingError(std::string_view(kind), message);
}

int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
                      const TVMFFIByteArray* backtrace, TVMFFIObjectHandle* out) {
  return TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace, nullptr, nullptr, out);
}

// On failure, returns -1 without setting a pending error, because callers use this function to
// create the error that becomes pending.
int TVMFFIErrorCreateWithCauseAndExtraContext(
    const TVMFFIByteArray* kind, const TVMFFIByteArray* message, const TVMFFIByteArray* backtrace,
    TVMFFIObjectHandle cause_chain, TVMFFIObjectHandle extra_context, TVMFFIObjectHandle* out) {
  try {
    *out = NewError(View(*kind), View(*message), View(*backtrace), cause_chain, extra_context)
               .release();
    return 0;
  } catch (...) {
    return -1;
  }
}
