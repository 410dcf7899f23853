// SPDX-License-Identifier: Apache-2.0
// HookScope: counts the running hooks of a walk and checks the machine stack before each one.
//
// A hook may call the walk back, and the walk may call another hook, so hooks nest on the machine
// stack.  The remaining stack limits the nesting.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_SCOPE_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_SCOPE_H_

#include <cstddef>

#include "walk/walk_limits.h"

namespace tvm::ffi::extra {

// The running hooks of a walk.  Each hook was called during the previous hook.
struct RunningHooks {
  size_t count = 0;
  // True while the innermost hook itself runs.  False while the walk runs, including the key hooks,
  // field getters and destructors that it calls.  Such code must not call the walk again, because a
  // step of the walk is in progress.
  bool hook_is_active = false;
};

// A scope during which a hook runs: adds the hook to RunningHooks, marks it as active, and removes
// it at the end.
class HookScope {
 public:
  // Throws ValueError if the machine stack is nearly used up.
  HookScope(RunningHooks* hooks, const WalkLimits& limits);
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
  ~HookScope() {
    --hooks_->count;
    hooks_->hook_is_active = false;
  }

 private:
  RunningHooks* hooks_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_SCOPE_H_
