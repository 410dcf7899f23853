// SPDX-License-Identifier: Apache-2.0
// Where a service that walks through values stops, and in which words.
//
// Services keep stacks of their own, so nesting costs no machine stack: what limits it is memory,
// and values that contain themselves.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_WALK_LIMITS_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_WALK_LIMITS_H_

#include <tvm/ffi/error.h>

#include <cstddef>
#include <string>

namespace tvm::ffi::extra {

// Levels, for services that have no reason for less; one takes some hundred bytes.
inline constexpr size_t kMaxDepth = size_t{1} << 20;

// One constant per service, or per family of services that say the same.  Formats are those of
// printf.
struct WalkLimits {
  const char* service;  // in front of the two messages with a number
  size_t max_depth = kMaxDepth;
  const char* too_deep = "maximum stack depth (%zu) exceeded";
  // For services that call hooks, see hook_scope.h and hook_argument.h; the number is that of the
  // hooks that are running.
  const char* no_stack = "%zu nested hooks have used up the machine stack";
  const char* is_over =
      "the function that a hook got was called after the end of the operation that called the hook";
  const char* is_not_its_turn =
      "the function that a hook got was called on another thread, or when the hook was not running";

  // Throws ValueError.  Called with the number of open levels before one is added.
  void CheckDepth(size_t depth) const {
    if (TVM_FFI_PREDICT_FALSE(depth >= max_depth)) ThrowTooDeep();
  }

  std::string TooDeepMessage() const;
  [[noreturn]] void ThrowTooDeep() const;
  [[noreturn]] void ThrowNoStack(size_t num_hooks) const;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_WALK_LIMITS_H_
