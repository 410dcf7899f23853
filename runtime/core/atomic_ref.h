// SPDX-License-Identifier: Apache-2.0
// A reference that threads read and replace at the same time.
#ifndef TVM_FFI_RUNTIME_CORE_ATOMIC_REF_H_
#define TVM_FFI_RUNTIME_CORE_ATOMIC_REF_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "object.h"

namespace tvm::ffi::runtime {

// Bit 0 of the stored address is a lock, held only while a reader adds its own reference: otherwise
// a writer could drop the last one between the reader's load and its increment.  Who finds it taken
// looks again a few times and then lets others run, among them who holds it.
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

  // Whether it is this object at the moment.
  bool Is(const T* object) const {
    return (bits_.load(std::memory_order_acquire) & ~kLocked) ==
           reinterpret_cast<uintptr_t>(object);
  }
  bool IsNull() const { return (bits_.load(std::memory_order_acquire) & ~kLocked) == 0; }

 private:
  static constexpr uintptr_t kLocked = 1;
  static constexpr int kAttempts = 16;

  // Returns the address; the store that follows unlocks.
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
