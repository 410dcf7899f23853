// SPDX-License-Identifier: Apache-2.0
// State that each thread has for itself.
#ifndef TVM_FFI_RUNTIME_CORE_THREAD_STATE_H_
#define TVM_FFI_RUNTIME_CORE_THREAD_STATE_H_

#include <utility>

namespace tvm::ffi::runtime {

// The calling thread's T, made on first use.  A plain thread_local T would be dead while the
// thread's other variables, or the process's, are being destroyed, which is when foreign code may
// still call in; here such a late caller gets a new T.
template <typename T>
class ThreadState {
 public:
  static T& Get() {
    if (state_ == nullptr) state_ = Make();
    return *state_;
  }
  // Null when the thread has not needed one yet.
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
