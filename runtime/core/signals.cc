// SPDX-License-Identifier: Apache-2.0
// Lets long native calls notice Ctrl-C: the host language lends the three functions this needs.
#include <tvm/ffi/extra/c_env_api.h>

#include <atomic>
#include <string_view>

#include "error.h"
#include "host_lock.h"

namespace tvm::ffi::runtime {
namespace {

// The host's GIL state is a C enum; int has its calling convention.
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
    std::string_view wanted = name;
    if (wanted == "PyErr_CheckSignals") {
      Store(&check_signals, symbol);
    } else if (wanted == "PyGILState_Ensure") {
      Store(&ensure_gil, symbol);
    } else if (wanted == "PyGILState_Release") {
      Store(&release_gil, symbol);
    } else if (!LendHostLock(wanted, symbol)) {
      Raise("ValueError", "Unknown env API ", wanted,
            ", expected PyErr_CheckSignals, PyGILState_Ensure, PyGILState_Release, "
            "ObjectLock_Begin or ObjectLock_End");
    }
  });
}

// On -1 the error slot stays empty: the exception is pending in the host language.
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
