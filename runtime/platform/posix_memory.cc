// SPDX-License-Identifier: Apache-2.0
// Aligned memory on POSIX systems.
#include <cstdlib>

#include "platform.h"

namespace tvm::ffi::platform {

void* AllocateAligned(size_t size, size_t alignment) noexcept {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void FreeAligned(void* memory) noexcept { std::free(memory); }

}  // namespace tvm::ffi::platform
