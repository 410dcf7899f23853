// SPDX-License-Identifier: Apache-2.0
// Slots that are filled once, whichever thread comes first.
//
// Each slot has a lock of its own while it is being filled: an init function may load a library,
// whose initialisers may wait for another thread that fills another slot.
#include <tvm/ffi/c_api.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "error.h"

namespace tvm::ffi::runtime {
namespace {

// The slots that are being filled.
class Fillings {
 public:
  static Fillings& Global() {
    static auto* fillings = new Fillings();
    return *fillings;
  }

  // Waits while another thread fills the slot.  False when it is filled after that.  An init
  // function that comes back to its own slot is not kept waiting for itself.
  bool Begin(void** slot) {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return !IsFilledByAnotherThread(slot); });
    if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) != nullptr) return false;
    under_way_.push_back({slot, std::this_thread::get_id()});
    return true;
  }
  void End(void** slot) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    // The last one: this thread may have come back to the slot.
    for (size_t i = under_way_.size(); i-- > 0;) {
      if (under_way_[i].slot != slot) continue;
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    done_.notify_all();
  }

 private:
  struct Filling {
    void** slot;
    std::thread::id thread;
  };

  bool IsFilledByAnotherThread(void** slot) const {
    for (const Filling& filling : under_way_) {
      if (filling.slot == slot && filling.thread != std::this_thread::get_id()) return true;
    }
    return false;
  }

  std::mutex mutex_;  // never held while an init function runs
  std::condition_variable done_;
  std::vector<Filling> under_way_;  // in most programs none or one
};

struct EndOfFilling {
  void** slot;
  ~EndOfFilling() { Fillings::Global().End(slot); }
};

int Fill(void** slot, int (*init_func)(void** result)) {
  if (!Fillings::Global().Begin(slot)) return 0;
  EndOfFilling end{slot};
  void* handle = nullptr;
  int code = init_func(&handle);
  if (code != 0) return code;  // the init function's own error, passed through unchanged
  if (handle == nullptr) Raise("RuntimeError", "init_func must return a non-NULL handle");
  __atomic_store_n(slot, handle, __ATOMIC_RELEASE);
  return 0;
}

}  // namespace
}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIHandleInitOnce(void** handle_addr, int (*init_func)(void** result)) {
  if (__atomic_load_n(handle_addr, __ATOMIC_ACQUIRE) != nullptr) return 0;
  int code = 0;
  int guard = GuardBoundary([&] { code = Fill(handle_addr, init_func); });
  return guard != 0 ? guard : code;
}

int TVMFFIHandleDeinitOnce(void** handle_addr, int (*deinit_func)(void* handle)) {
  void* handle = __atomic_exchange_n(handle_addr, nullptr, __ATOMIC_ACQ_REL);
  if (handle == nullptr) return 0;
  int code = 0;
  int guard = GuardBoundary([&] { code = deinit_func(handle); });
  return guard != 0 ? guard : code;
}
