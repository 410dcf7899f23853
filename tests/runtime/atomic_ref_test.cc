// SPDX-License-Identifier: Apache-2.0
// Threads that wait for a locked reference yield to the thread that holds the lock.
#include "../../runtime/core/atomic_ref.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tvm/ffi/c_api.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace {
std::atomic<int> num_yields{0};
}

// Precedes the C library's function in the whole program. It makes the system call itself, because
// a look-up of the C library's function waits for the loader's lock, which tests of the program
// hold.
extern "C" int sched_yield() {
  ++num_yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace {

using tvm::ffi::runtime::AtomicRef;
using tvm::ffi::runtime::Ref;

constexpr size_t kPageSize = 4096;
TVMFFIObject* object = nullptr;
std::atomic<bool> is_held{false};

void WaitForAYield() {
  while (num_yields.load() == 0) {
  }
}

// The thread that holds the lock is suspended here: its first access to the object, the increment,
// causes a page fault.
void OnFault(int, siginfo_t*, void*) {
  is_held = true;
  WaitForAYield();
  mprotect(static_cast<void*>(object), kPageSize, PROT_READ | PROT_WRITE);
}

}  // namespace

// Regression: a thread that found the lock taken spun until the end of its time slice; the thread
// with the lock could not run if there were more threads than processors.
TEST_CASE("a thread that finds the reference locked yields") {
  void* page = mmap(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  object = static_cast<TVMFFIObject*>(page);
  object->combined_ref_count = TVM_FFI_REF_COUNT_INITIAL;
  AtomicRef<TVMFFIObject> ref;
  ref.Exchange(Ref<TVMFFIObject>::Share(object));
  struct sigaction action = {};
  action.sa_sigaction = &OnFault;
  action.sa_flags = SA_SIGINFO;
  struct sigaction before = {};
  CHECK_EQ(sigaction(SIGSEGV, &action, &before), 0);
  mprotect(page, kPageSize, PROT_READ);

  std::thread holder([&ref] { ref.Load(); });
  while (!is_held.load()) {
  }
  ref.Load();
  holder.join();

  sigaction(SIGSEGV, &before, nullptr);
  CHECK(num_yields.load() > 0);
  CHECK_EQ(object->combined_ref_count, TVM_FFI_REF_COUNT_INITIAL + TVM_FFI_REF_COUNT_STRONG_ONE);
  ref.Exchange(nullptr);
  munmap(page, kPageSize);
}
