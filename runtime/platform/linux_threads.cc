// SPDX-License-Identifier: Apache-2.0
// Threads on Linux.
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "platform.h"

namespace tvm::ffi::platform {
namespace {

// The numbers of three commands of the system call membarrier(2).
constexpr int kQuery = 0;
constexpr int kPrivateExpedited = 1 << 3;
constexpr int kRegisterPrivateExpedited = 1 << 4;

int Membarrier([[maybe_unused]] int command) {
#ifdef SYS_membarrier
  return static_cast<int>(syscall(SYS_membarrier, command, 0, 0));
#else
  return -1;
#endif
}

// Registers the process for the expedited command of membarrier(2), and returns true if the kernel
// supports the command.  The expedited command interrupts the other threads of the process and runs
// a full memory barrier on each of them.  The global command is not used, because one call takes
// milliseconds and loading a library makes hundreds of registrations.
bool RegisterExpeditedBarrier() {
  int supported = Membarrier(kQuery);
  return supported > 0 && (supported & kPrivateExpedited) != 0 &&
         Membarrier(kRegisterPrivateExpedited) == 0;
}

#ifdef __GLIBC__
uintptr_t LowestStackOfProcess() { return UINTPTR_MAX; }  // the C library reports the whole stack
#else
// Returns the lowest address to which the kernel extends the stack of the process, if this function
// runs on that stack, which a forked child of another thread does not; UINTPTR_MAX otherwise.  The
// path of the program is at the upper end of that stack.
uintptr_t LowestStackOfProcess() {
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINTPTR_MAX;
  auto here = reinterpret_cast<uintptr_t>(&limit), end = uintptr_t{getauxval(AT_EXECFN)};
  if (here > end || end - here >= limit.rlim_cur) return UINTPTR_MAX;
  return end - static_cast<uintptr_t>(limit.rlim_cur);
}
#endif

}  // namespace

void BarrierOnAllThreads() noexcept {
  static const bool has_barrier = RegisterExpeditedBarrier();
  if (has_barrier) Membarrier(kPrivateExpedited);
}

StackRange StackOfThread() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {0, 0};
  void* low = nullptr;
  size_t size = 0;
  int status = pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  if (status != 0) return {0, 0};
  auto address = reinterpret_cast<uintptr_t>(low);
  // musl reports only the part of the process's stack that is mapped at present.
  return {std::min(address, LowestStackOfProcess()), address + size};
}

}  // namespace tvm::ffi::platform
