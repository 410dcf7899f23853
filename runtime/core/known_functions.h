// SPDX-License-Identifier: Apache-2.0
// Functions that observers find (tvm/ffi/extra/c_observe.h): the list of module functions, and the
// hook that shows new functions to the observers.
#ifndef TVM_FFI_RUNTIME_CORE_KNOWN_FUNCTIONS_H_
#define TVM_FFI_RUNTIME_CORE_KNOWN_FUNCTIONS_H_

#include <atomic>
#include <mutex>
#include <string_view>

namespace tvm::ffi::runtime {

// Shows a function to the observers; null while no observer exists.  A pointer, so that programs
// without observers do not link observe.cc.
extern std::atomic<void (*)(void* function, std::string_view name) noexcept> new_function_hook;

inline bool HasObservers() { return new_function_hook.load(std::memory_order_relaxed) != nullptr; }

// Called where a function is created or gets a name; `function` is the handle.
inline void ShowToObservers(void* function, std::string_view name) noexcept {
  auto* hook = new_function_hook.load(std::memory_order_acquire);
  if (hook != nullptr) hook(function, name);
}

// Membership of a function object in the list of module functions; a member of the object.  The
// list has no references: the object leaves it when it is destroyed.
class KnownFunction {
 public:
  KnownFunction() = default;
  KnownFunction(const KnownFunction&) = delete;
  KnownFunction& operator=(const KnownFunction&) = delete;
  ~KnownFunction();

  // Adds the function, whose entries are final, to the list.  `name` must live as long as this
  // object.
  void Add(void* function, std::string_view name);

  // Calls visit(function, name) for each function of the list, with the lock of the list held.
  template <typename Visit>
  static void ForEach(Visit&& visit) {
    std::lock_guard<std::mutex> lock(Mutex());
    for (KnownFunction* known = first_; known != nullptr; known = known->next_) {
      visit(known->function_, known->name_);
    }
  }

  static std::mutex& Mutex();

 private:
  static KnownFunction* first_;  // guarded by Mutex()

  void* function_ = nullptr;  // null: not in the list
  std::string_view name_;
  KnownFunction* previous_ = nullptr;
  KnownFunction* next_ = nullptr;
};

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_KNOWN_FUNCTIONS_H_
