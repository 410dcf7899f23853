// SPDX-License-Identifier: Apache-2.0
// The hooks of a walk that are running.
//
// A hook gets a function that leads back into the walk, so hooks nest on the machine stack, and how
// deep they may depends on what is left of that.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_SCOPE_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_SCOPE_H_

#include <cstddef>

#include "walk/walk_limits.h"

namespace tvm::ffi::extra {

// The hooks of a walk that run, one inside the other.
struct RunningHooks {
  size_t count = 0;
  // Whether the innermost of them has the turn.  Else the walk has it, or what it calls besides:
  // hooks of keys, getters of fields, destructors.  None of these may come back into the walk,
  // which is in the midst of a step.
  bool have_turn = false;
};

// Counts a hook, which has the turn, for as long as it runs.
class HookScope {
 public:
  // Throws ValueError when little is left of the machine stack.
  HookScope(RunningHooks* hooks, const WalkLimits& limits);
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
  ~HookScope() {
    --hooks_->count;
    hooks_->have_turn = false;
  }

 private:
  RunningHooks* hooks_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_SCOPE_H_
