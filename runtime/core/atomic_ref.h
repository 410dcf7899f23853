// SPDX-License-Identifier: Apache-2.0
// AtomicRef: an owned reference that several threads read and replace concurrently.
#ifndef TVM_FFI_RUNTIME_CORE_ATOMIC_REF_H_
#define TVM_FFI_RUNTIME_CORE_ATOMIC_REF_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "object.h"

namespace tvm::ffi::runtime {

// Bit 0 of the stored address is a spin lock.  A reader holds it while it increments the reference
// count: otherwise a writer could release the last reference between the reader's load and its
// increment.  A thread that finds the lock taken retries kAttempts times and then yields the
// processor before each further attempt, so that the thread with the lock can finish.
template <typename T>
class AtomicRef {
 public:
  Ref<T> Load() const {
    uintptr_t bits = Lock();
    auto ref = Ref<T>::Share(reinterpret_cast<T*>(bits));
    bits_.store(bits, std::memory_order_release);
    return ref;
  }

  Ref<T> Exchange(Ref<T> next) {
    auto* object = static_cast<T*>(next.release());
    uintptr_t previous = Lock();
    bits_.store(reinterpret_cast<uintptr_t>(object), std::memory_order_release);
    return Ref<T>::Adopt(reinterpret_cast<T*>(previous));
  }

  // Returns true if the current object is `object`.  Takes no lock.
  bool Is(const T* object) const {
    return (bits_.load(std::memory_order_acquire) & ~kLocked) ==
           reinterpret_cast<uintptr_t>(object);
  }
  bool IsNull() const { return (bits_.load(std::memory_order_acquire) & ~kLocked) == 0; }

  // Releases the lock in a forked child, in which the thread that had it does not exist.
  void ReleaseInChild() { bits_.fetch_and(~kLocked, std::memory_order_release); }

 private:
  static constexpr uintptr_t kLocked = 1;
  static constexpr int kAttempts = 16;

  // Takes the lock and returns the address without the lock bit.  The next store of the caller to
  // bits_ releases the lock.
  uintptr_t Lock() const {
    for (int attempt = 0;; ++attempt) {
      uintptr_t bits = bits_.fetch_or(kLocked, std::memory_order_acquire);
      if ((bits & kLocked) == 0) return bits;
      if (attempt >= kAttempts) sched_yield();
    }
  }

  mutable std::atomic<uintptr_t> bits_{0};
};

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_ATOMIC_REF_H_
