// SPDX-License-Identifier: Apache-2.0
// ForkMutex: a mutex that is free in the child of a fork, also if another thread had it.
//
// A fork acquires all mutexes of this kind, in any order and after the locks of the core.  A thread
// that holds one therefore acquires no other lock and runs no other code.  An uncontended lock and
// unlock cost one atomic operation, because each observed call needs them.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_FORK_MUTEX_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_FORK_MUTEX_H_

#include <atomic>
#include <cstdint>
#include <thread>

namespace tvm::ffi::extra {

class ForkMutex {
 public:
  ForkMutex();
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() {
    while (is_locked_.exchange(1, std::memory_order_acquire) != 0) std::this_thread::yield();
  }
  void unlock() { is_locked_.store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t> is_locked_{0};  // a word: RISC-V exchanges no bytes
};

// A fork acquires locks in the reverse order of their registration.  The call, while the library is
// loaded and before an observer is added, makes the mutexes the last locks.
void RegisterForkMutexes();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_FORK_MUTEX_H_
