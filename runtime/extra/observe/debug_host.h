// SPDX-License-Identifier: Apache-2.0
// Host: functions of the host language that the debug context calls.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_DEBUG_HOST_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_DEBUG_HOST_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/c_observe.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "observe/check_budget.h"

namespace tvm::ffi::extra {

// Facts about a function that the host language has told.
struct FunctionNotes {
  const void* function = nullptr;
  int32_t name_index = -1;
  bool runs_host_code = false;
  bool needs_result = false;  // a result of None is wrong
  std::string directions;     // see AddDebug
  std::vector<std::string> names;
  std::unique_ptr<CheckBudget> budget = std::make_unique<CheckBudget>();

  bool AreOf(const TVMFFIObservedCall& call) const {
    return function == call.function && name_index == call.name_index;
  }
};

// The functions of the parameters `host` and `addresses` of AddDebug.
class Host {
 public:
  Host(const Array<Function>& functions, const Array<int64_t>& addresses)
      : describe_(functions[0]), knows_kind_(functions[1]) {
    if (addresses.size() != 5) return;
    ensure_ = reinterpret_cast<int (*)()>(addresses[0]);
    release_ = reinterpret_cast<void (*)(int)>(addresses[1]);
    pending_ = reinterpret_cast<void* (*)()>(addresses[2]);
    is_running_ = reinterpret_cast<int (*)()>(addresses[3]);
    thread_ = reinterpret_cast<void* (*)()>(addresses[4]);
  }

  // True if code of the host language can run in a deleter on this thread: the host is not exiting,
  // knows the thread, and has no pending exception.
  bool CanRunInDeleter() const {
    return ensure_ != nullptr && is_running_() != 0 && thread_() != nullptr && !HasException();
  }

  // True if this thread has a pending exception of the host language.
  bool HasException() const {
    if (ensure_ == nullptr) return false;
    int state = ensure_();
    bool has_exception = pending_() != nullptr;
    release_(state);
    return has_exception;
  }
  bool KnowsKind(const std::string& kind) const {
    try {
      return knows_kind_(String(kind)).cast<bool>();
    } catch (const std::exception&) {
      return true;
    }
  }
  FunctionNotes Describe(const TVMFFIObservedCall& call) const {
    FunctionNotes notes;
    notes.function = call.function;
    notes.name_index = call.name_index;
    try {
      TVMFFIObjectIncRef(call.function);
      auto callee = ffi::detail::ObjectUnsafe::ObjectRefFromObjectPtr<Function>(
          ffi::detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(
              static_cast<TVMFFIObject*>(call.function)));
      String name(call.name.data, call.name.size);
      auto found = describe_(callee, name).cast<Optional<Array<Any>>>();
      if (!found.has_value()) return notes;
      const Array<Any>& row = found.value();
      notes.runs_host_code = row[0].cast<bool>();
      notes.needs_result = row[1].cast<bool>();
      notes.directions = row[2].cast<String>();
      for (const Any& text : row[3].cast<Array<Any>>()) notes.names.push_back(text.cast<String>());
    } catch (const std::exception&) {
      // The interpreter is exiting: the function is checked without its signature.
    }
    return notes;
  }

 private:
  Function describe_;
  Function knows_kind_;
  int (*ensure_)() = nullptr;
  void (*release_)(int) = nullptr;
  void* (*pending_)() = nullptr;
  int (*is_running_)() = nullptr;
  void* (*thread_)() = nullptr;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_DEBUG_HOST_H_
