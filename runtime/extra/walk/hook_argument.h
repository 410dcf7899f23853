// SPDX-License-Identifier: Apache-2.0
// The function that hooks get, with which they come back into the walk that called them.
//
// It lends the walk for as long as the hook runs, to the thread of the walk: a hook may keep the
// function, or give it away, and then it only fails.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_ARGUMENT_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_ARGUMENT_H_

#include <tvm/ffi/function.h>

#include <atomic>
#include <memory>
#include <thread>

#include "walk/hook_scope.h"
#include "walk/walk_limits.h"

namespace tvm::ffi::extra {

// kMethod: the member function of the walk that the function calls.
template <auto kMethod>
class HookArgument;

template <typename Walk, typename R, typename... Args, R (Walk::*kMethod)(Args...)>
class HookArgument<kMethod> {
 public:
  HookArgument(Walk* walk, RunningHooks* hooks, const WalkLimits* limits)
      : walk_(walk), hooks_(hooks), limits_(limits) {}
  HookArgument(const HookArgument&) = delete;
  HookArgument& operator=(const HookArgument&) = delete;
  ~HookArgument() {
    if (loan_ != nullptr) loan_->walk.store(nullptr, std::memory_order_release);
  }

  // Made when the first hook needs it: most values have none.
  const TypedFunction<R(Args...)>& Get() {
    if (loan_ == nullptr) {
      auto loan = std::make_shared<Loan>(walk_, hooks_);
      function_ = [loan, limits = limits_](Args... args) -> R {
        Walk* walk = loan->walk.load(std::memory_order_acquire);
        if (walk == nullptr) TVM_FFI_THROW(RuntimeError) << limits->is_over;
        // In this order: what hooks have the turn is only known to the walk's own thread.
        if (std::this_thread::get_id() != loan->thread || !loan->hooks->have_turn) {
          TVM_FFI_THROW(RuntimeError) << limits->is_not_its_turn;
        }
        WalksTurn turn(loan->hooks);
        return (walk->*kMethod)(args...);
      };
      loan_ = std::move(loan);
    }
    return function_;
  }

 private:
  struct Loan {
    Loan(Walk* walk, RunningHooks* hooks) : walk(walk), hooks(hooks) {}
    std::atomic<Walk*> walk;  // null: the walk is over
    RunningHooks* const hooks;
    const std::thread::id thread = std::this_thread::get_id();
  };

  // While a hook is back in the walk, it has the turn no more.
  class WalksTurn {
   public:
    explicit WalksTurn(RunningHooks* hooks) : hooks_(hooks) { hooks->have_turn = false; }
    WalksTurn(const WalksTurn&) = delete;
    WalksTurn& operator=(const WalksTurn&) = delete;
    ~WalksTurn() { hooks_->have_turn = true; }

   private:
    RunningHooks* hooks_;
  };

  Walk* walk_;
  RunningHooks* hooks_;
  const WalkLimits* limits_;
  std::shared_ptr<Loan> loan_;
  TypedFunction<R(Args...)> function_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_ARGUMENT_H_
