// SPDX-License-Identifier: Apache-2.0
// Store ordering: a fence on x86, a barrier on all threads on processors with weaker ordering.
#include "store_order.h"

#include "../platform/platform.h"

namespace tvm::ffi::runtime {

#if defined(__x86_64__) || defined(__i386__)

// x86 processors keep the order of stores and of loads, so only the compiler needs a fence.
void SeparateStores() noexcept { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#else

// A reader loads the value that was stored second, and then the value that was stored first.  Its
// processor may execute the two loads in reverse order.  The barrier interrupts the reader, so that
// both loads happen before the barrier or both after the barrier.
void SeparateStores() noexcept {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  platform::BarrierOnAllThreads();
}

#endif

}  // namespace tvm::ffi::runtime
