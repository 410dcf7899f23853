// SPDX-License-Identifier: Apache-2.0
// HookArgument: the function that a walk passes to hooks, with which a hook calls the walk back.
//
// The function works only while the hook runs, and only on the thread of the walk.  A hook may
// store the function or pass it to other code; later calls raise an error.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_ARGUMENT_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_ARGUMENT_H_

#include <tvm/ffi/function.h>

#include <atomic>
#include <memory>
#include <thread>

#include "walk/hook_scope.h"
#include "walk/walk_limits.h"

namespace tvm::ffi::extra {

// The function that a walk passes to hooks.  kMethod: the member function of the walk that the
// function calls.
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
    if (link_ != nullptr) link_->walk.store(nullptr, std::memory_order_release);
  }

  // Returns the function to pass to hooks.  Creates it on first use, because most walks do not call
  // a hook.
  const TypedFunction<R(Args...)>& Get() {
    if (link_ == nullptr) {
      auto link = std::make_shared<WalkLink>(walk_, hooks_);
      function_ = [link, limits = limits_](Args... args) -> R {
        Walk* walk = link->walk.load(std::memory_order_acquire);
        if (walk == nullptr) TVM_FFI_THROW(RuntimeError) << limits->hook_after_end;
        // Compare the thread ids first, because only the thread of the walk may read
        // `hook_is_active`.
        if (std::this_thread::get_id() != link->thread || !link->hooks->hook_is_active) {
          TVM_FFI_THROW(RuntimeError) << limits->hook_not_active;
        }
        WalkIsActive scope(link->hooks);
        return (walk->*kMethod)(args...);
      };
      link_ = std::move(link);
    }
    return function_;
  }

 private:
  // The data shared by the walk and by the function that the walk passes to hooks.
  struct WalkLink {
    WalkLink(Walk* walk, RunningHooks* hooks) : walk(walk), hooks(hooks) {}
    std::atomic<Walk*> walk;  // the walk; null after the walk has ended
    RunningHooks* const hooks;
    const std::thread::id thread = std::this_thread::get_id();
  };

  // Marks the hook as not active while it calls the walk back.
  class WalkIsActive {
   public:
    explicit WalkIsActive(RunningHooks* hooks) : hooks_(hooks) { hooks->hook_is_active = false; }
    WalkIsActive(const WalkIsActive&) = delete;
    WalkIsActive& operator=(const WalkIsActive&) = delete;
    ~WalkIsActive() { hooks_->hook_is_active = true; }

   private:
    RunningHooks* hooks_;
  };

  Walk* walk_;
  RunningHooks* hooks_;
  const WalkLimits* limits_;
  std::shared_ptr<WalkLink> link_;
  TypedFunction<R(Args...)> function_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_ARGUMENT_H_
