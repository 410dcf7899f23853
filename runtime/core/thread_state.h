// SPDX-License-Identifier: Apache-2.0
// ThreadState: thread-local variables that stay usable during thread exit and process exit.
#ifndef TVM_FFI_RUNTIME_CORE_THREAD_STATE_H_
#define TVM_FFI_RUNTIME_CORE_THREAD_STATE_H_

#include <utility>

namespace tvm::ffi::runtime {

// The instance of T that belongs to the calling thread; created on first use.  Third-party code may
// call the runtime while the destructors of thread-local or static variables run.  A plain
// thread_local T could be destroyed by then; Get creates a new T instead.
template <typename T>
class ThreadState {
 public:
  static T& Get() {
    if (state_ == nullptr) state_ = Make();
    return *state_;
  }
  // Returns null if the thread has no T yet.
  static T* Find() { return state_; }

 private:
  struct DeleteAtThreadExit {
    ~DeleteAtThreadExit() noexcept(false) { delete std::exchange(state_, nullptr); }
  };

  static T* Make() {
    static thread_local DeleteAtThreadExit delete_at_thread_exit;
    return new T();
  }

  static inline thread_local T* state_ = nullptr;
};

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_THREAD_STATE_H_
