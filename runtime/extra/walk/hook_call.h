// SPDX-License-Identifier: Apache-2.0
// Calling the hooks with which types adapt a service.
//
// A hook gets a function that leads back into the service, so hooks nest on the machine stack; the
// services themselves use stacks of their own.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_CALL_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_CALL_H_

#include <tvm/ffi/function.h>

#include <functional>
#include <memory>

namespace tvm::ffi::extra {

// Throws ValueError when little is left of the machine stack.  `depth` is the number of hooks that
// are running.
void RequireStackForHook(size_t depth, const char* service);

// The function that hooks get; it calls `body`.  A hook may keep it, but when the service is done
// it only fails.
template <typename Signature>
class HookArgument;

template <typename R, typename... Args>
class HookArgument<R(Args...)> {
 public:
  explicit HookArgument(std::function<R(Args...)> body) : body_(std::move(body)) {}
  HookArgument(const HookArgument&) = delete;
  HookArgument& operator=(const HookArgument&) = delete;
  ~HookArgument() {
    if (self_ != nullptr) *self_ = nullptr;
  }

  // Made when the first hook needs it: most values have none.
  const TypedFunction<R(Args...)>& Get() {
    if (self_ == nullptr) {
      auto self = std::make_shared<HookArgument*>(this);
      function_ = [self](Args... args) -> R {
        if (*self == nullptr) {
          TVM_FFI_THROW(RuntimeError) << "the function that a hook got was called after the end of "
                                         "the operation that called the hook";
        }
        return (*self)->body_(args...);
      };
      self_ = std::move(self);
    }
    return function_;
  }

 private:
  std::function<R(Args...)> body_;
  std::shared_ptr<HookArgument*> self_;
  TypedFunction<R(Args...)> function_;
};

// Counts the hooks that are running.
class HookScope {
 public:
  HookScope(size_t* depth, const char* service) : depth_(depth) {
    RequireStackForHook(*depth, service);
    ++*depth_;
  }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
  ~HookScope() { --*depth_; }

 private:
  size_t* depth_;
};

// How deep values may nest; a frame of a service's own stack takes some hundred bytes.
constexpr size_t kMaxDepth = 1048576;

[[noreturn]] void ThrowNestedTooDeeply(const char* service);

}  // namespace tvm::ffi::extra
#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_HOOK_CALL_H_
