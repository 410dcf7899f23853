// SPDX-License-Identifier: Apache-2.0
#include "walk/hook_scope.h"

#include "walk/stack_room.h"

namespace tvm::ffi::extra {
namespace {

// Cheap enough not to ask.
constexpr size_t kAlwaysAllowed = 16;
// On a stack of which nothing is known.
constexpr size_t kMaxOnUnknownStack = 128;

bool HasStackForOneMore(size_t num_hooks) {
  if (num_hooks < kAlwaysAllowed) return true;
  StackRoom room = NativeStackRoom();
  if (room == StackRoom::kUnknown) return num_hooks < kMaxOnUnknownStack;
  return room == StackRoom::kEnough;
}

}  // namespace

HookScope::HookScope(size_t* num_hooks, const WalkLimits& limits) : num_hooks_(num_hooks) {
  if (!HasStackForOneMore(*num_hooks)) limits.ThrowNoStack(*num_hooks);
  ++*num_hooks_;
}

}  // namespace tvm::ffi::extra
