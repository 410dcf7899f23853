// SPDX-License-Identifier: Apache-2.0
// Kernels whose threads enter Python during interpreter shutdown from noexcept functions, which,
// like destructors, must not be unwound.
#include <tvm/ffi/extra/c_env_api.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "kernel.h"

namespace {

void Sleep(int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void Say(const char* text) {
  std::puts(text);
  std::fflush(stdout);
}

void ReleaseLater(TVMFFIAny owned, int64_t ms) noexcept {
  Sleep(ms);
  Release(&owned);
  Say("released");
}

void CallLater(TVMFFIAny function, int64_t ms) noexcept {
  Sleep(ms);
  TVMFFIAny result = None();
  TVMFFIObjectHandle error = nullptr;
  if (TVMFFIFunctionCall(function.v_obj, nullptr, 0, &result) == 0) {
    Say("called");
  } else {
    TVMFFIErrorMoveFromRaised(&error);
    Say(TVMFFIErrorGetCellPtr(error)->message.data);
    TVMFFIObjectDecRef(error);
  }
  Release(&result);
  Release(&function);
}

void CheckSignalsLater(int64_t ms) noexcept {
  Sleep(ms);
  Say(TVMFFIEnvCheckSignals() == 0 ? "checked" : "interrupted");
}

void CallForEver(TVMFFIAny function) noexcept {
  for (;;) {
    TVMFFIAny result = None();
    if (TVMFFIFunctionCall(function.v_obj, nullptr, 0, &result) != 0) {
      TVMFFIObjectHandle error = nullptr;
      TVMFFIErrorMoveFromRaised(&error);
      TVMFFIObjectDecRef(error);
    }
    Release(&result);
  }
}

template <typename Run, typename... Args>
int OnNewThread(Run run, const TVMFFIAny& kept, Args... args) {
  TVMFFIAny owned = None();
  if (TVMFFIAnyViewToOwnedAny(&kept, &owned) != 0) return -1;
  std::thread(run, owned, args...).detach();
  return 0;
}

}  // namespace

extern "C" {

// release_later(x, ms): a native thread owns x and releases it after `ms` milliseconds.
KERNEL(release_later) { return OnNewThread(&ReleaseLater, args[0], args[1].v_int64); }

// call_later(f, ms): a native thread calls f() after `ms` milliseconds.
KERNEL(call_later) { return OnNewThread(&CallLater, args[0], args[1].v_int64); }

// call_and_release_for_ever(f): a native thread calls f() and releases the result, in a loop.
KERNEL(call_and_release_for_ever) { return OnNewThread(&CallForEver, args[0]); }

// check_signals_later(ms): a native thread checks for signals after `ms` milliseconds.
KERNEL(check_signals_later) {
  std::thread(&CheckSignalsLater, args[0].v_int64).detach();
  return 0;
}

}  // extern "C"
