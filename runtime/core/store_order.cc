// SPDX-License-Identifier: Apache-2.0
// Store ordering: a fence on x86, the system call membarrier on processors with weaker ordering.
#include "store_order.h"

#include <syscall.h>
#include <unistd.h>

namespace tvm::ffi::runtime {

#if defined(__x86_64__) || defined(__i386__) || !defined(SYS_membarrier)

// x86 processors keep the order of stores and of loads, so only the compiler needs a fence.
void SeparateStores() noexcept { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#else

namespace {

// The numbers of three commands of the system call membarrier(2).
constexpr int kQuery = 0;
constexpr int kPrivateExpedited = 1 << 3;
constexpr int kRegisterPrivateExpedited = 1 << 4;

int Membarrier(int command) { return static_cast<int>(syscall(SYS_membarrier, command, 0, 0)); }

// Registers the process for the expedited command of membarrier(2), and returns true if the kernel
// supports the command.  The expedited command interrupts the other threads of the process and runs
// a full memory barrier on each of them.  The global command is not used, because one call takes
// milliseconds and loading a library makes hundreds of registrations.
bool RegisterExpeditedBarrier() {
  int supported = Membarrier(kQuery);
  return supported > 0 && (supported & kPrivateExpedited) != 0 &&
         Membarrier(kRegisterPrivateExpedited) == 0;
}

}  // namespace

// A reader loads the value that was stored second, and then the value that was stored first.  Its
// processor may execute the two loads in reverse order.  The barrier interrupts the reader, so that
// both loads happen before the barrier or both after the barrier.
void SeparateStores() noexcept {
  static const bool has_barrier = RegisterExpeditedBarrier();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (has_barrier) Membarrier(kPrivateExpedited);
}

#endif

}  // namespace tvm::ffi::runtime
