// SPDX-License-Identifier: Apache-2.0
// Threads on macOS.
#include <pthread.h>

#include "platform.h"

namespace tvm::ffi::platform {

// macOS has no call that runs a barrier on other threads.
void BarrierOnAllThreads() noexcept {}

StackRange StackOfThread() noexcept {
  auto high = reinterpret_cast<uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
  return {high - pthread_get_stacksize_np(pthread_self()), high};
}

}  // namespace tvm::ffi::platform
