// SPDX-License-Identifier: Apache-2.0
// HookScope: the check of the machine stack.
#include "walk/hook_scope.h"

#include "walk/stack_room.h"

namespace tvm::ffi::extra {
namespace {

// The number of nested hooks up to which the machine stack is not checked.
constexpr size_t kAlwaysAllowed = 16;
// The largest number of nested hooks on a stack of unknown size, such as a coroutine stack.
constexpr size_t kMaxOnUnknownStack = 128;

bool HasStackForOneMore(size_t num_hooks) {
  if (num_hooks < kAlwaysAllowed) return true;
  StackRoom room = NativeStackRoom();
  if (room == StackRoom::kUnknown) return num_hooks < kMaxOnUnknownStack;
  return room == StackRoom::kEnough;
}

}  // namespace

HookScope::HookScope(RunningHooks* hooks, const WalkLimits& limits) : hooks_(hooks) {
  if (!HasStackForOneMore(hooks->count)) limits.ThrowNoStack(hooks->count);
  ++hooks->count;
  hooks->hook_is_active = true;
}

}  // namespace tvm::ffi::extra
