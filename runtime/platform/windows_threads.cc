// SPDX-License-Identifier: Apache-2.0
// Threads and memory on Windows.
#include <malloc.h>

#include "platform.h"
#include "windows_text.h"

namespace tvm::ffi::platform {

void* AllocateAligned(size_t size, size_t alignment) noexcept {
  return _aligned_malloc(size, alignment);
}

void FreeAligned(void* memory) noexcept { _aligned_free(memory); }

void BarrierOnAllThreads() noexcept { FlushProcessWriteBuffers(); }

StackRange StackOfThread() noexcept {
  ULONG_PTR low = 0, high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  return {static_cast<uintptr_t>(low), static_cast<uintptr_t>(high)};
}

}  // namespace tvm::ffi::platform
