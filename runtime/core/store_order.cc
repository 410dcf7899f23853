// SPDX-License-Identifier: Apache-2.0
#include "store_order.h"

#include <syscall.h>
#include <unistd.h>

namespace tvm::ffi::runtime {

#if defined(__x86_64__) || defined(__i386__) || !defined(SYS_membarrier)

// Here processors keep the order of stores and that of loads; the compiler keeps it, too.
void SeparateStores() noexcept { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#else

namespace {

// Commands of the system call, as its manual page gives them.
constexpr int kQuery = 0;
constexpr int kPrivateExpedited = 1 << 3;
constexpr int kRegisterPrivateExpedited = 1 << 4;

int Membarrier(int command) { return static_cast<int>(syscall(SYS_membarrier, command, 0, 0)); }

// Whether the system interrupts the process's other threads, each for a full barrier.  The slow
// command that waits for all of the system's processors is not worth having: it takes milliseconds,
// and loading a library registers hundreds of things.
bool CanInterrupt() {
  int supported = Membarrier(kQuery);
  return supported > 0 && (supported & kPrivateExpedited) != 0 &&
         Membarrier(kRegisterPrivateExpedited) == 0;
}

}  // namespace

// A processor may load the second value before the first.  One that is interrupted in between has
// loaded both before or will load both after.
void SeparateStores() noexcept {
  static const bool can_interrupt = CanInterrupt();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (can_interrupt) Membarrier(kPrivateExpedited);
}

#endif

}  // namespace tvm::ffi::runtime
