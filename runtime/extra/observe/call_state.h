// SPDX-License-Identifier: Apache-2.0
// CallState: the values that a debug context keeps between the start and the end of a call.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_CALL_STATE_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_CALL_STATE_H_

#include <tvm/ffi/c_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/extra_layer.h"
#include "observe/checked_tensor.h"
#include "observe/created_tensors.h"
#include "observe/debug_host.h"
#include "observe/thread_environment.h"

namespace tvm::ffi::extra {

inline constexpr int32_t kMaxArgs = 16;  // only the first arguments of a call are checked

// An object argument, with the additional reference of the call.
struct HeldObject {
  TVMFFIObject* object;
  uint32_t strong_before;  // without the additional reference
  int32_t index;
};

// The fields of a tensor argument, which functions must not change.
struct TensorFields {
  int32_t index;
  const DLTensor* tensor;
  DLTensor copy;
};

struct CallState {
  CreatedTensors* created;  // null: tensors that the function allocates are not kept
  const FunctionNotes* notes;
  // List of the calls in progress on this thread.  With fibers, the call that began last may not be
  // the first one to end.
  CallState* outer;  // the call that contains this one, or null
  CallState* inner = nullptr;
  // True if another debug context checks the same call.  That context, whose state is `outer`,
  // repairs the result and has the additional references.
  bool is_nested;
  std::string_view name;
  const void* address;
  const TVMFFIAny* arg_array;
  const TVMFFIAny* lent;         // the copy of the arguments, see LendViews; or null
  const TVMFFIAny* caller_args;  // set if `lent` is not null
  TVMFFIAny* slot;
  TVMFFIObjectHandle error;  // pending before the call
  bool is_slot_filled;
  bool has_created;  // the function allocated a tensor
  int32_t num_args;
  int32_t num_held;
  bool has_owner;  // an argument may own other arguments after the call
  TVMFFIAny args[kMaxArgs];
  HeldObject held[kMaxArgs];
  Environment environment;
  TVMFFIStreamHandle captured;  // a current stream that is captured into a graph, or null
  TensorFields fields[kMaxArgs];
  int32_t num_fields;
  SmallInput small[kMaxArgs];
  int32_t num_small;
  std::vector<CheckedTensor> tensors;
  // Memory for copies of elements, which is kept for later calls.
  std::unique_ptr<char[]> copies;
  size_t copies_size = 0;
  // Times of a call whose checks have a budget; 0 for other calls.
  int64_t begin_ns;
  int64_t function_ns;
};

// States of earlier calls, for the next calls of the thread.
struct FreeStates {
  static constexpr size_t kMax = 8;
  std::vector<std::unique_ptr<CallState>> states;
};

inline std::unique_ptr<CallState> NewState() {
  std::vector<std::unique_ptr<CallState>>& free = runtime::ThreadState<FreeStates>::Get().states;
  if (free.empty()) {
    free.reserve(FreeStates::kMax);
    return std::unique_ptr<CallState>(new CallState);  // without zeroing the arrays
  }
  std::unique_ptr<CallState> state = std::move(free.back());
  free.pop_back();
  return state;
}

struct FreeAtExit {
  void operator()(CallState* state) const {
    state->inner = nullptr;
    state->tensors.clear();
    std::unique_ptr<CallState> owned(state);
    std::vector<std::unique_ptr<CallState>>& free = runtime::ThreadState<FreeStates>::Get().states;
    if (free.size() < free.capacity()) free.push_back(std::move(owned));
  }
};

// The state of a thread; one variable, because each access to one costs a function call.
struct ThreadCalls {
  CallState* current;  // the innermost call
  Environment last;    // the streams when a call read them last
};
inline thread_local ThreadCalls thread_calls = {nullptr, {}};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_CALL_STATE_H_
