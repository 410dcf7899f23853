// SPDX-License-Identifier: Apache-2.0
// WalkLimits: the depth limit of a walk over values, and its error messages.
//
// Walks use an explicit stack, so nesting costs no machine stack.  The depth is limited because of
// memory, and to end walks over values that contain themselves.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_WALK_LIMITS_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_WALK_LIMITS_H_

#include <tvm/ffi/error.h>

#include <cstddef>
#include <string>

namespace tvm::ffi::extra {

// The default depth limit of a walk, in levels.  A walk needs a few hundred bytes of memory per
// level.
inline constexpr size_t kMaxDepth = size_t{1} << 20;

// The limits and error messages of one kind of walk.  Messages are printf formats.
struct WalkLimits {
  const char* service;  // prefix of the messages too_deep and no_stack
  size_t max_depth = kMaxDepth;
  const char* too_deep = "the value is nested deeper than %zu levels";
  // For walks that call hooks (hook_scope.h, hook_argument.h); %zu is the number of
  // running hooks.
  const char* no_stack = "the machine stack has no room for more than %zu nested hooks";
  const char* hook_after_end =
      "the function that was passed to a hook was called after the operation that called the hook "
      "had ended";
  const char* hook_not_active =
      "the function that was passed to a hook was called on another thread, or while the hook was "
      "not running";

  // Throws ValueError if another level would exceed the limit.
  //
  // depth  the current number of levels
  void CheckDepth(size_t depth) const {
    if (TVM_FFI_PREDICT_FALSE(depth >= max_depth)) ThrowTooDeep();
  }

  std::string TooDeepMessage() const;
  [[noreturn]] void ThrowTooDeep() const;
  [[noreturn]] void ThrowNoStack(size_t num_hooks) const;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_WALK_LIMITS_H_
