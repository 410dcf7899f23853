// SPDX-License-Identifier: Apache-2.0
#include "walk/hook_call.h"

#include "walk/stack_room.h"

namespace tvm::ffi::extra {
namespace {

// Cheap enough not to ask.
constexpr size_t kAlwaysAllowedDepth = 16;
// On a stack of which nothing is known.
constexpr size_t kMaxDepthOnUnknownStack = 128;

bool HasStackForHook(size_t depth) {
  StackRoom room = NativeStackRoom();
  if (room == StackRoom::kUnknown) return depth < kMaxDepthOnUnknownStack;
  return room == StackRoom::kEnough;
}

}  // namespace

void RequireStackForHook(size_t depth, const char* service) {
  if (depth < kAlwaysAllowedDepth || HasStackForHook(depth)) return;
  TVM_FFI_THROW(ValueError) << service << ": " << depth
                            << " nested hooks have used up the machine stack";
}

void ThrowNestedTooDeeply(const char* service) {
  TVM_FFI_THROW(ValueError) << service << ": maximum stack depth (" << kMaxDepth << ") exceeded";
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra
