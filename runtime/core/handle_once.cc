// SPDX-License-Identifier: Apache-2.0
// Slots that are filled once, whichever thread comes first.
#include <tvm/ffi/c_api.h>

#include <mutex>

#include "error.h"

namespace {

// Recursive: an init function may itself need another slot.
std::recursive_mutex& InitMutex() {
  static auto* mutex = new std::recursive_mutex();
  return *mutex;
}

}  // namespace

using namespace tvm::ffi::runtime;

int TVMFFIHandleInitOnce(void** handle_addr, int (*init_func)(void** result)) {
  if (__atomic_load_n(handle_addr, __ATOMIC_ACQUIRE) != nullptr) return 0;
  int code = 0;
  int guard = GuardBoundary([&] {
    std::lock_guard<std::recursive_mutex> lock(InitMutex());
    if (__atomic_load_n(handle_addr, __ATOMIC_ACQUIRE) != nullptr) return;
    void* handle = nullptr;
    code = init_func(&handle);
    if (code != 0) return;  // the init function's own error, passed through unchanged
    if (handle == nullptr) Raise("RuntimeError", "init_func must return a non-NULL handle");
    __atomic_store_n(handle_addr, handle, __ATOMIC_RELEASE);
  });
  return guard != 0 ? guard : code;
}

int TVMFFIHandleDeinitOnce(void** handle_addr, int (*deinit_func)(void* handle)) {
  void* handle = __atomic_exchange_n(handle_addr, nullptr, __ATOMIC_ACQ_REL);
  if (handle == nullptr) return 0;
  int code = 0;
  int guard = GuardBoundary([&] { code = deinit_func(handle); });
  return guard != 0 ? guard : code;
}
