// SPDX-License-Identifier: Apache-2.0
// Debug: the observer that checks calls, see debug.h.  debug.cc has what each call executes,
// debug_reports.cc the rest.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_DEBUG_CONTEXT_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_DEBUG_CONTEXT_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/c_observe.h>
#include <tvm/ffi/function.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <unordered_map>

#include "observe/call_state.h"
#include "observe/created_tensors.h"
#include "observe/debug_host.h"
#include "observe/fault_list.h"
#include "observe/fork_mutex.h"
#include "observe/kept_arguments.h"
#include "observe/lent_views.h"
#include "observe/quarantine.h"

namespace tvm::ffi::extra {

inline constexpr int kResult = -1;  // argument indices of faults
inline constexpr int kNoArgument = -2;

class Debug {
 public:
  Debug(const Array<Any>& options, const Array<Function>& host, const Array<int64_t>& addresses);

  void* Begin(const TVMFFIObservedCall& call);
  void End(const TVMFFIObservedCall& call, void* token);
  Array<Array<Any>> Read();
  // Called when no call is in progress and no call will begin.
  void Finish() { is_finished_.store(true, std::memory_order_release); }

 private:
  const FunctionNotes* NotesOf(const TVMFFIObservedCall& call);
  const FunctionNotes* FindNotes(const TVMFFIObservedCall& call);
  static void LendArguments(const TVMFFIObservedCall& call, CallState* state);
  void Hold(const TVMFFIObservedCall& call, CallState* state);
  void CopyTensors(CallState* state) const;
  static void Restrict(size_t window, CallState* state);

  void CheckReturn(const TVMFFIObservedCall& call, CallState* state);
  void CheckError(const TVMFFIObservedCall& call, const CallState& state);
  void CheckResult(const TVMFFIObservedCall& call, const CallState& state);
  void CheckArguments(const TVMFFIObservedCall& call, const CallState& state);
  void CheckReferences(const TVMFFIObservedCall& call, const CallState& state);
  void CheckTensors(const TVMFFIObservedCall& call, CallState* state);
  void CheckEnvironment(const TVMFFIObservedCall& call, CallState* state);
  void CheckCapture(const TVMFFIObservedCall& call, const CallState& state);
  void CheckReleased(const TVMFFIObservedCall& call, const CallState& state);
  void CheckKeptViews(const TVMFFIObservedCall& call);
  Fault FaultOfView(const KeptView& view);

  void Report(const TVMFFIObservedCall& call, const CallState& state, int index, const char* rule,
              std::string message, std::string events = {});
  static std::string ArgumentName(const FunctionNotes& notes, int index);

  size_t max_bytes_;
  bool finds_not_finite_;
  bool finds_kept_;
  Host host_;
  FaultList faults_;
  KeptArguments kept_;
  CreatedTensors created_;
  std::atomic<bool> is_finished_{false};
  // Of errors that are exceptions of the host language.  Their kinds need no registration, and
  // their messages may be empty.
  decltype(TVMFFIObject::deleter) host_error_deleter_;
  std::atomic<size_t> next_finding_;
  std::atomic<size_t> next_kept_view_;

  // Notes of functions that were called recently, by a hash of the address.
  std::array<std::atomic<const FunctionNotes*>, 1024> recent_{};
  ForkMutex mutex_;  // guards the members below; no host code runs while it is held
  std::deque<FunctionNotes> all_notes_;
  std::unordered_map<const void*, const FunctionNotes*> notes_;  // by the address of the function
  std::set<std::string> kinds_;                                  // error kinds that are registered
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_DEBUG_CONTEXT_H_
