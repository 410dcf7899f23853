// SPDX-License-Identifier: Apache-2.0
// The function that hooks get, with which they come back into the walk that called them.
//
// It lends the walk: a hook may keep the function for longer than the walk lasts, and then it only
// fails.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_ARGUMENT_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_ARGUMENT_H_

#include <tvm/ffi/function.h>

#include <memory>

#include "walk/walk_limits.h"

namespace tvm::ffi::extra {

// kMethod: the member function of the walk that the function calls.
template <auto kMethod>
class HookArgument;

template <typename Walk, typename R, typename... Args, R (Walk::*kMethod)(Args...)>
class HookArgument<kMethod> {
 public:
  HookArgument(Walk* walk, const WalkLimits* limits) : walk_(walk), limits_(limits) {}
  HookArgument(const HookArgument&) = delete;
  HookArgument& operator=(const HookArgument&) = delete;
  ~HookArgument() {
    if (loan_ != nullptr) *loan_ = nullptr;
  }

  // Made when the first hook needs it: most values have none.
  const TypedFunction<R(Args...)>& Get() {
    if (loan_ == nullptr) {
      auto loan = std::make_shared<Walk*>(walk_);
      function_ = [loan, limits = limits_](Args... args) -> R {
        if (*loan == nullptr) TVM_FFI_THROW(RuntimeError) << limits->is_over;
        return ((*loan)->*kMethod)(args...);
      };
      loan_ = std::move(loan);
    }
    return function_;
  }

 private:
  Walk* walk_;
  const WalkLimits* limits_;
  std::shared_ptr<Walk*> loan_;  // null in it: the walk is over
  TypedFunction<R(Args...)> function_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_ARGUMENT_H_
