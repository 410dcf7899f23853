// SPDX-License-Identifier: Apache-2.0
// Remaining machine stack: compares the frame address with the stack range of the thread.
#include "walk/stack_room.h"

#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../platform/platform.h"
#include "registration.h"

namespace tvm::ffi::extra {

StackRoom NativeStackRoom() {
  // Cache the stack range of the thread, because the C library reads the range of the main thread
  // from a file.
  thread_local platform::StackRange range{0, 0};
  thread_local bool is_known = false;
  if (!is_known) {
    range = platform::StackOfThread();
    is_known = true;
  }
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (here < range.low || here >= range.high) return StackRoom::kUnknown;
  constexpr uintptr_t kReserveBytes = 256 * 1024;
  uintptr_t reserve = std::min(kReserveBytes, (range.high - range.low) / 4);
  return here - range.low < reserve ? StackRoom::kLow : StackRoom::kEnough;
}

// Registers a global function that reports a nearly full stack, for language bindings that convert
// nested values recursively.
void RegisterStackRoom() {
  reflection::GlobalDef().def("pytvmffi.StackIsLow",
                              [] { return NativeStackRoom() == StackRoom::kLow; });
}

}  // namespace tvm::ffi::extra
