// SPDX-License-Identifier: Apache-2.0
// The list of module functions, and the hook that shows new functions to the observers.
#include "known_functions.h"

namespace tvm::ffi::runtime {

std::atomic<void (*)(void* function, std::string_view name) noexcept> new_function_hook{nullptr};

KnownFunction* KnownFunction::first_ = nullptr;

std::mutex& KnownFunction::Mutex() {
  static auto* mutex = new std::mutex();  // functions may be released after `exit` began
  return *mutex;
}

void KnownFunction::Add(void* function, std::string_view name) {
  {
    std::lock_guard<std::mutex> lock(Mutex());
    function_ = function;
    name_ = name;
    next_ = first_;
    if (first_ != nullptr) first_->previous_ = this;
    first_ = this;
  }
  ShowToObservers(function, name);
}

KnownFunction::~KnownFunction() {
  if (function_ == nullptr) return;
  std::lock_guard<std::mutex> lock(Mutex());
  (previous_ != nullptr ? previous_->next_ : first_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

}  // namespace tvm::ffi::runtime
