// SPDX-License-Identifier: Apache-2.0
#include "error.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "backtrace.h"
#include "value.h"

namespace tvm::ffi::runtime {
namespace {

// One pending error per thread, as a plain pointer that stays usable while the thread's other
// variables are being destroyed.  Owned.
thread_local ErrorObject* pending_error = nullptr;

Ref<ErrorObject> TakePendingError() noexcept {
  return Ref<ErrorObject>::Adopt(std::exchange(pending_error, nullptr));
}

// Releases what was never taken when the thread ends.
struct ReleaseAtThreadExit {
  ~ReleaseAtThreadExit() noexcept(false) { DropPendingError(); }
};

void UpdateBacktrace(TVMFFIObjectHandle self, const TVMFFIByteArray* backtrace, int32_t mode) {
  auto* error = static_cast<ErrorObject*>(static_cast<TVMFFIObject*>(self));
  try {
    // The new text may be part of the old one, so both exist until the swap.
    std::string text(View(*backtrace));
    if (mode != kTVMFFIBacktraceUpdateModeReplace) text.insert(0, error->backtrace_storage);
    error->backtrace_storage.swap(text);
    error->backtrace = Lend(error->backtrace_storage);
  } catch (...) {
    // Out of memory: the error keeps the backtrace it had, which is all a caller can use.
  }
}

// Threads share the error, so what one of them adds to it would be the others', too.
void KeepBacktrace(TVMFFIObjectHandle, const TVMFFIByteArray*, int32_t) {}

// Made while memory is still there; an immortal object, shared by all threads.
const Ref<ErrorObject>& OutOfMemoryError() {
  static const auto* error = [] {
    auto made = NewError("MemoryError", "out of memory while raising an error", "");
    made->update_backtrace = &KeepBacktrace;
    return new Ref<ErrorObject>(std::move(made));
  }();
  return *error;
}

// Forces the allocation above at load time.
[[maybe_unused]] const Ref<ErrorObject>& reserve_out_of_memory_error = OutOfMemoryError();

}  // namespace

ErrorObject::ErrorObject(std::string_view kind_text, std::string_view message_text,
                         std::string_view backtrace_text, TVMFFIObjectHandle cause,
                         TVMFFIObjectHandle context)
    : kind_storage(kind_text), message_storage(message_text), backtrace_storage(backtrace_text) {
  kind = Lend(kind_storage);
  message = Lend(message_storage);
  backtrace = Lend(backtrace_storage);
  update_backtrace = &UpdateBacktrace;
  cause_chain = Ref<TVMFFIObject>::Share(cause).release();
  extra_context = Ref<TVMFFIObject>::Share(context).release();
}

ErrorObject::~ErrorObject() noexcept(false) {
  // Read from the cell: C++ clients replace these handles in place.
  auto context = Ref<TVMFFIObject>::Adopt(extra_context);
  auto cause = Ref<TVMFFIObject>::Adopt(cause_chain);
}

Ref<ErrorObject> NewError(std::string_view kind, std::string_view message,
                          std::string_view backtrace, TVMFFIObjectHandle cause,
                          TVMFFIObjectHandle context) {
  return NewObject<ErrorObject>(kTVMFFIError, 0, kind, message, backtrace, cause, context);
}

void DropPendingError() {
  // What dies may make a call that fails, and leave its error.  If that never ends, the last one is
  // kept alive, which is better than to hang.
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
  // Passed on as such: an error of ours would hide the host language's exception.
  if (code == kHostExceptionPending) RaiseMessage("EnvErrorAlreadySet", "");
  Ref<ErrorObject> error = TakePendingError();
  if (!error) RaiseMessage("RuntimeError", "a callee returned nonzero but set no error");
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

// Fails by return code alone: the pending error of the thread is what the caller is building.
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
