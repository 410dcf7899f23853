// SPDX-License-Identifier: Apache-2.0
// Signal checks (Ctrl-C) in long native calls, through three functions that the host registers.
#include <tvm/ffi/extra/c_env_api.h>

#include <atomic>
#include <string_view>

#include "error.h"
#include "host_lock.h"

namespace tvm::ffi::runtime {
namespace {

// Pointers to the three CPython functions.  PyGILState_STATE is a C enum, which is passed like int.
std::atomic<int (*)()> check_signals{nullptr};
std::atomic<int (*)()> ensure_gil{nullptr};
std::atomic<void (*)(int)> release_gil{nullptr};

template <typename Function>
void Store(std::atomic<Function>* slot, void* symbol) {
  slot->store(reinterpret_cast<Function>(symbol), std::memory_order_release);
}

}  // namespace
}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIEnvRegisterCAPI(const char* name, void* symbol) {
  return GuardBoundary([&] {
    std::string_view function_name = name;
    if (function_name == "PyErr_CheckSignals") {
      Store(&check_signals, symbol);
    } else if (function_name == "PyGILState_Ensure") {
      Store(&ensure_gil, symbol);
    } else if (function_name == "PyGILState_Release") {
      Store(&release_gil, symbol);
    } else if (!RegisterHostLockFunction(function_name, symbol)) {
      Raise("ValueError", "Unknown env API ", function_name,
            ", expected PyErr_CheckSignals, PyGILState_Ensure, PyGILState_Release, "
            "ObjectLock_Begin or ObjectLock_End");
    }
  });
}

// A result of -1 means that an exception is pending in the host language.  The runtime itself has
// no pending error.
int TVMFFIEnvCheckSignals() {
  auto check = check_signals.load(std::memory_order_acquire);
  if (check == nullptr) return 0;
  auto ensure = ensure_gil.load(std::memory_order_acquire);
  auto release = release_gil.load(std::memory_order_acquire);
  bool takes_gil = ensure != nullptr && release != nullptr;
  int state = takes_gil ? ensure() : 0;
  int code = check();
  if (takes_gil) release(state);
  return code == 0 ? 0 : -1;
}
