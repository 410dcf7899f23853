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

// Counts a hook for as long as it runs.
class HookScope {
 public:
  // Throws ValueError when little is left of the machine stack.
  HookScope(size_t* num_hooks, const WalkLimits& limits);
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
  ~HookScope() { --*num_hooks_; }

 private:
  size_t* num_hooks_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_SCOPE_H_
