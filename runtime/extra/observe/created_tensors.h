// SPDX-License-Identifier: Apache-2.0
// CreatedTensors: tensors that functions allocated, and to which no pointer exists any more.
//
// A tensor is leaked if it is alive and no word of the writable memory of the process is an address
// in its object: caches, module state and Python objects have such a word.  A stale copy of the
// address, for example in freed memory, hides a leak.  The addresses in this class are inverted, so
// that they are not found themselves.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_CREATED_TENSORS_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_CREATED_TENSORS_H_

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/string.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/fork_mutex.h"

namespace tvm::ffi::extra {

class CreatedTensors {
 public:
  // Adds a tensor that a call of `function` allocated.  The name is never freed.
  void Add(std::string_view function, const TVMFFIObject* tensor);
  // Keeps the stack of the first call of a function that allocated a tensor.
  template <typename GetStack>
  void AddStack(std::string_view function, GetStack&& get_stack) {
    {
      std::lock_guard<ForkMutex> lock(mutex_);
      if (stacks_.count(function) != 0) return;
    }
    String stack = get_stack();  // runs host code
    std::lock_guard<ForkMutex> lock(mutex_);
    stacks_.emplace(function, stack);
  }

  struct Leak {
    std::string_view function;
    size_t num_tensors;
    String stack;
  };
  // Returns the functions with at least two leaked tensors.  No call may be in progress.
  std::vector<Leak> Leaks() const;

 private:
  static constexpr size_t kMaxTensors = 100000;

  struct Created {
    std::string_view function;
    uintptr_t inverted_data;  // of the elements
  };
  mutable ForkMutex mutex_;
  std::unordered_map<uintptr_t, Created> tensors_;  // by the inverted address of the object
  std::map<std::string_view, String> stacks_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_CREATED_TENSORS_H_
