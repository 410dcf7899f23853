// SPDX-License-Identifier: Apache-2.0
// KeptArguments: arguments to which functions kept references that nobody releases.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_KEPT_ARGUMENTS_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_KEPT_ARGUMENTS_H_

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/string.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/fork_mutex.h"

namespace tvm::ffi::extra {

inline uint32_t StrongCount(const TVMFFIObject* object) {
  return static_cast<uint32_t>(__atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED));
}

// The padding in the header of a released object that the quarantine keeps (quarantine.h).
inline constexpr uint32_t kReleasedMark = 0x5EED5EED;
inline bool IsReleased(const TVMFFIObject* object) {
  return __atomic_load_n(&object->__padding, __ATOMIC_RELAXED) == kReleasedMark;
}

class KeptArguments {
 public:
  // Notes that a call increased the strong count of an argument.  get_stack() returns the stack of
  // the first such call.
  template <typename GetStack>
  void Add(std::string_view function, const std::string& argument, TVMFFIObject* object,
           GetStack&& get_stack) {
    Key key(function, argument);
    std::unique_lock<ForkMutex> lock(mutex_);
    if (by_argument_.count(key) == 0) {
      lock.unlock();
      String stack = get_stack();  // runs host code
      lock.lock();
      by_argument_.emplace(key, Kept{stack, {}});
    }
    std::map<TVMFFIObject*, uint32_t>& objects = by_argument_.at(key).objects;
    auto found = objects.find(object);
    if (found != objects.end()) {
      ++found->second;
      return;
    }
    if (num_objects_ == kMaxObjects) return;
    ++num_objects_;
    // A weak reference keeps the memory, so that the strong count can be read later.  It is never
    // released, because the deleter may be code of a library that has been unloaded.
    __atomic_fetch_add(&object->combined_ref_count, uint64_t{1} << 32, __ATOMIC_RELAXED);
    objects.emplace(object, 1);
  }

  // An argument of which at least two kept references still exist.  One reference may be intended,
  // for example in a cache.
  struct Leak {
    std::string_view function;
    std::string argument;
    uint32_t num_references;
    String stack;
  };
  std::vector<Leak> Leaks() const {
    std::lock_guard<ForkMutex> lock(mutex_);
    std::vector<Leak> leaks;
    for (const auto& [key, kept] : by_argument_) {
      uint32_t total = 0;
      for (const auto& [object, count] : kept.objects) {
        total += std::min(count, StrongCount(object));
      }
      if (total >= 2) leaks.push_back({key.first, key.second, total, kept.stack});
    }
    return leaks;
  }

 private:
  using Key = std::pair<std::string_view, std::string>;
  struct Kept {
    String stack;
    std::map<TVMFFIObject*, uint32_t> objects;  // the number of kept references
  };
  static constexpr size_t kMaxObjects = 10000;

  mutable ForkMutex mutex_;
  std::map<Key, Kept> by_argument_;
  size_t num_objects_ = 0;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_KEPT_ARGUMENTS_H_
