// SPDX-License-Identifier: Apache-2.0
// One-time initialisation of handles (TVMFFIHandleInitOnce), thread-safe.
//
// Threads wait per handle, not for one global lock: an init function may load a library whose
// initialisers wait for another thread, which may be initialising another handle.
#include <tvm/ffi/c_api.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "error.h"

namespace tvm::ffi::runtime {
namespace {

// The set of handles whose init functions are running, on any thread.
class RunningInits {
 public:
  static RunningInits& Global() {
    static auto* inits = new RunningInits();
    return *inits;
  }

  // Waits while another thread initialises the handle.  Returns false if the handle is set
  // afterwards, and true if the caller must initialise the handle.  Does not wait if the init
  // function runs on the calling thread, because an init function may initialise the handle
  // recursively.
  bool Begin(void** slot) {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return !IsRunningOnAnotherThread(slot); });
    if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) != nullptr) return false;
    running_.push_back({slot, std::this_thread::get_id()});
    return true;
  }
  void End(void** slot) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    // Remove only the last entry of the handle, because recursive calls may have added several.
    for (size_t i = running_.size(); i-- > 0;) {
      if (running_[i].slot != slot) continue;
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    done_.notify_all();
  }

 private:
  struct RunningInit {
    void** slot;
    std::thread::id thread;
  };

  bool IsRunningOnAnotherThread(void** slot) const {
    for (const RunningInit& init : running_) {
      if (init.slot == slot && init.thread != std::this_thread::get_id()) return true;
    }
    return false;
  }

  std::mutex mutex_;  // guards running_; not locked while an init function runs
  std::condition_variable done_;
  std::vector<RunningInit> running_;  // the running init functions; rarely more than one
};

struct EndInit {
  void** slot;
  ~EndInit() { RunningInits::Global().End(slot); }
};

int InitOnce(void** slot, int (*init_func)(void** result)) {
  if (!RunningInits::Global().Begin(slot)) return 0;
  EndInit end{slot};
  void* handle = nullptr;
  int code = init_func(&handle);
  if (code != 0) return code;  // the init function has set the pending error
  if (handle == nullptr) {
    Raise("RuntimeError", "TVMFFIHandleInitOnce: init_func must return a non-NULL handle");
  }
  __atomic_store_n(slot, handle, __ATOMIC_RELEASE);
  return 0;
}

}  // namespace
}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIHandleInitOnce(void** handle_addr, int (*init_func)(void** result)) {
  if (__atomic_load_n(handle_addr, __ATOMIC_ACQUIRE) != nullptr) return 0;
  int code = 0;
  int guard = GuardBoundary([&] { code = InitOnce(handle_addr, init_func); });
  return guard != 0 ? guard : code;
}

int TVMFFIHandleDeinitOnce(void** handle_addr, int (*deinit_func)(void* handle)) {
  void* handle = __atomic_exchange_n(handle_addr, nullptr, __ATOMIC_ACQ_REL);
  if (handle == nullptr) return 0;
  int code = 0;
  int guard = GuardBoundary([&] { code = deinit_func(handle); });
  return guard != 0 ? guard : code;
}
