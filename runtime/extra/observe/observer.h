// SPDX-License-Identifier: Apache-2.0
// Observers that Python controls: a C++ object with the hooks of c_observe.h.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_OBSERVER_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_OBSERVER_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/c_observe.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tvm::ffi::extra {

// The clock of Python's time.perf_counter_ns.
inline int64_t NowNs() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// The names in the value of an environment variable, which commas separate.
inline Array<String> SplitNames(const std::string& text) {
  Array<String> names;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// Adds an observer that calls T::Begin and T::End, and returns [read, number]: a function that
// returns the result of T::Read, also after the observer was removed, and the observer's number.
// `owned` lives until the observer was removed and its last call has ended.
template <typename T, typename Owned = std::nullptr_t>
Array<Any> AddObserver(std::shared_ptr<T> state, const Array<String>& names, Owned owned = {}) {
  struct Context {
    std::shared_ptr<T> state;
    Owned owned;
  };
  // The bytes of a short name are in its String, which the iterator of an array returns by value.
  std::vector<String> kept(names.begin(), names.end());
  std::vector<TVMFFIByteArray> wanted;
  for (const String& name : kept) wanted.push_back({name.data(), name.size()});
  std::unique_ptr<Context> owner(new Context{state, std::move(owned)});
  TVMFFIObserver observer{};
  observer.struct_size = sizeof(observer);
  observer.context = owner.get();
  observer.begin = [](void* context, const TVMFFIObservedCall* call) -> void* {
    return static_cast<Context*>(context)->state->Begin(*call);
  };
  observer.end = [](void* context, const TVMFFIObservedCall* call, void* token) {
    static_cast<Context*>(context)->state->End(*call, token);
  };
  observer.deleter = [](void* context) { delete static_cast<Context*>(context); };
  observer.names = wanted.data();
  observer.num_names = wanted.size();
  int64_t number;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIObserverAdd(&observer, &number));
  owner.release();
  return {Function::FromTyped([state = std::move(state)]() { return state->Read(); }), number};
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_OBSERVER_H_
