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

HookScope::HookScope(RunningHooks* hooks, const WalkLimits& limits) : hooks_(hooks) {
  if (!HasStackForOneMore(hooks->count)) limits.ThrowNoStack(hooks->count);
  ++hooks->count;
  hooks->have_turn = true;
}

}  // namespace tvm::ffi::extra
