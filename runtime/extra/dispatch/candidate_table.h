// SPDX-License-Identifier: Apache-2.0
// Candidate table: the candidates of a dispatch with their functions, and the choice among them.
//
// A table never changes.  Per device, it caches the list of candidates that run on the device, so
// that a call compares neither devices nor architectures: it evaluates the conditions of the list's
// candidates up to the first candidate whose conditions hold.
#ifndef TVM_FFI_RUNTIME_EXTRA_DISPATCH_CANDIDATE_TABLE_H_
#define TVM_FFI_RUNTIME_EXTRA_DISPATCH_CANDIDATE_TABLE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "checks/run.h"
#include "dispatch/dispatch_program.h"

namespace tvm::ffi::extra::dispatch {

// One run of the checks and conditions of a table for the arguments of a call.
class DispatchRun : private checks::Scratch, public checks::CheckRun {
 public:
  // Checks the arguments, which are borrowed for the lifetime of this object.
  //
  // Fails: with the error that the dispatch program contains for the failed check.
  DispatchRun(const DispatchProgram& program, const TVMFFIAny* args, int32_t num_args)
      : Scratch(NumSlots(program.checks)),
        CheckRun(program.checks, args, num_args, at<int64_t>(0)) {
    Check();
  }
  DispatchRun(const DispatchRun&) = delete;
  DispatchRun& operator=(const DispatchRun&) = delete;

  // Returns true if a condition holds.  Fails: with the error of the operation that fails.
  bool Holds(uint32_t start, uint32_t result) {
    if (value(result) < 0) Execute(start);
    return value(result) != 0;
  }
};

class CandidateTable {
 public:
  // functions: one per candidate of the program; defaults: the default values of the last
  // parameters; shadow: called instead of the chosen candidate in one of `every` calls, with the
  // index of the candidate before the arguments.
  CandidateTable(DispatchProgram program, Array<Function> functions, const Array<Any>& defaults,
                 Optional<Function> shadow, int64_t every);

  // A candidate in the list of a device.
  struct Choice {
    const FunctionObj* function;  // owned by the table
    uint32_t index;               // index of the candidate in the program
    uint32_t num_conditions;
    const std::pair<uint32_t, uint32_t>* conditions;  // code address and result register of each
  };

  const DispatchProgram& program() const { return program_; }
  const std::vector<Any>& defaults() const { return defaults_; }
  const FunctionObj* shadow() const { return shadow_; }
  uint64_t every() const { return every_; }

  // Returns the first candidate that runs on the device of the arguments and whose conditions hold.
  //
  // Fails: ValueError that lists the candidates with the reasons if there is none.
  const Choice& Choose(DispatchRun* run) const;
  // Same as Choose, but returns nullptr if there is no such candidate.
  const Choice* TryToChoose(DispatchRun* run) const;
  // Returns the reason why a candidate does not fit the arguments; an empty string if it fits.
  std::string ReasonAgainst(const Candidate& candidate, DispatchRun* run) const;

 private:
  using List = std::vector<Choice>;

  DLDevice DeviceOf(const DispatchRun& run) const;
  const List& ListFor(DLDevice device) const;
  const List& NewListFor(DLDevice device) const;
  std::string ReasonAgainst(const Candidate& candidate, DLDevice device) const;
  std::string ValuesOf(const Condition& condition, const DispatchRun& run) const;
  [[noreturn]] void FailNone(DispatchRun* run) const;

  DispatchProgram program_;
  Array<Function> functions_;
  std::vector<Any> defaults_;
  Optional<Function> owned_shadow_;
  const FunctionObj* shadow_;
  uint64_t every_;
  // Per candidate: code address and result register of each condition.
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> conditions_;

  // Lists that calls read without a lock: of the CPU, then of the first CUDA devices.
  static constexpr uint32_t kNumCachedLists = 17;
  mutable std::atomic<const List*> cached_lists_[kNumCachedLists] = {};
  mutable std::mutex mutex_;  // guards lists_
  mutable std::map<std::pair<int, int>, List> lists_;  // by device type and id
};

}  // namespace tvm::ffi::extra::dispatch

#endif  // TVM_FFI_RUNTIME_EXTRA_DISPATCH_CANDIDATE_TABLE_H_
