// SPDX-License-Identifier: Apache-2.0
// Candidate table: the candidates of a dispatch with their functions, and the choice among them.
//
// A table never changes, except for two caches.  Per device, it caches the list of candidates that
// run on the device, so that a call compares neither devices nor architectures: it evaluates the
// conditions of the list's candidates up to the first candidate whose conditions hold.  A table
// with many conditions also caches recent choices.
#ifndef TVM_FFI_RUNTIME_EXTRA_DISPATCH_CANDIDATE_TABLE_H_
#define TVM_FFI_RUNTIME_EXTRA_DISPATCH_CANDIDATE_TABLE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "checks/run.h"
#include "dispatch/dispatch_program.h"
#include "dispatch/recent_choices.h"

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

  // Returns true if the condition at a code address holds; `result` is the program's register.
  //
  // Fails: with the error of the operation that fails.
  bool Holds(uint32_t start, uint32_t result) {
    Execute(start);
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
    const uint32_t* conditions;  // code addresses
  };

  using List = std::vector<Choice>;
  using Recent = RecentChoices<Choice>;

  const DispatchProgram& program() const { return program_; }
  const std::vector<Any>& defaults() const { return defaults_; }
  const FunctionObj* shadow() const { return shadow_; }
  uint64_t every() const { return every_; }

  // Returns the first candidate that runs on the device of the arguments and whose conditions hold.
  //
  // Fails: ValueError that lists the candidates with the reasons if there is none.
  TVM_FFI_INLINE const Choice& Choose(DispatchRun* run) const {
    const List& list = ListFor(DeviceOf(*run));
    if (recent_ == nullptr) return ChooseFirst(list, run);
    const Recent::Key key = {
        {reinterpret_cast<uintptr_t>(&list), Word(*run, 0), Word(*run, 1), Word(*run, 2)}};
    const Choice* choice = recent_->Find(key);
    return TVM_FFI_PREDICT_TRUE(choice != nullptr) ? *choice : ChooseAgain(list, key, run);
  }
  // Same as Choose, but returns nullptr unless all parameters are values and the choice is recent.
  // Needs no DispatchRun, whose registers are noticeable for such parameters.
  TVM_FFI_INLINE const Choice* ChooseByValues(const TVMFFIAny* args, int32_t num_args) const {
    if (!has_only_values_ || !ValuesPassDirectly(program_.checks, args, num_args)) return nullptr;
    auto word = [&](size_t i) { return static_cast<uint64_t>(args[recent_arguments_[i]].v_int64); };
    return recent_->Find(
        {{reinterpret_cast<uintptr_t>(&ListFor({kDLCPU, 0})), word(0), word(1), word(2)}});
  }
  // Same as Choose, but returns nullptr if there is no such candidate.
  const Choice* TryToChoose(DispatchRun* run) const {
    return FirstOf(ListFor(DeviceOf(*run)), run);
  }
  // Returns the reason why a candidate does not fit the arguments; an empty string if it fits.
  std::string ReasonAgainst(const Candidate& candidate, DispatchRun* run) const;

 private:
  TVM_FFI_INLINE DLDevice DeviceOf(const DispatchRun& run) const {
    if (program_.device_tensors.empty()) return {kDLCPU, 0};
    const DLTensor* tensor = run.tensor(first_device_tensor_);
    return TVM_FFI_PREDICT_TRUE(tensor != nullptr) ? tensor->device : LaterDeviceOf(run);
  }
  DLDevice LaterDeviceOf(const DispatchRun& run) const;
  TVM_FFI_INLINE const List& ListFor(DLDevice device) const {
    uint32_t index = IndexOfList(device);
    if (TVM_FFI_PREDICT_FALSE(index >= kNumCachedLists)) return NewListFor(device);
    const List* known = cached_lists_[index].load(std::memory_order_acquire);
    return TVM_FFI_PREDICT_TRUE(known != nullptr) ? *known : NewListFor(device);
  }
  // Returns the index of a device's list in cached_lists_; a larger number if it is not cached.
  static uint32_t IndexOfList(DLDevice device) {
    if (device.device_type == kDLCPU) return 0;
    bool is_gpu = device.device_type == kDLCUDA && device.device_id >= 0;
    return is_gpu ? 1 + static_cast<uint32_t>(device.device_id) : kNumCachedLists;
  }
  TVM_FFI_INLINE const Choice* FirstOf(const List& list, DispatchRun* run) const {
    for (const Choice& choice : list) {
      uint32_t i = 0;
      while (i < choice.num_conditions && run->Holds(choice.conditions[i], program_.result)) ++i;
      if (i == choice.num_conditions) return &choice;
    }
    return nullptr;
  }
  TVM_FFI_INLINE const Choice& ChooseFirst(const List& list, DispatchRun* run) const {
    const Choice* choice = FirstOf(list, run);
    if (TVM_FFI_PREDICT_FALSE(choice == nullptr)) FailNone(run);
    return *choice;
  }
  uint64_t Word(const DispatchRun& run, size_t index) const {
    return static_cast<uint64_t>(run.value(recent_registers_[index]));
  }
  const Choice& ChooseAgain(const List& list, const Recent::Key& key, DispatchRun* run) const;
  const List& NewListFor(DLDevice device) const;
  std::string ReasonAgainst(const Candidate& candidate, DLDevice device) const;
  std::string ValuesOf(const Condition& condition, const DispatchRun& run) const;
  [[noreturn]] TVM_FFI_COLD_CODE void FailNone(DispatchRun* run) const;
  void PrepareRecent();
  bool FindRecentArguments();

  DispatchProgram program_;
  Array<Function> functions_;
  std::vector<Any> defaults_;
  Optional<Function> owned_shadow_;
  const FunctionObj* shadow_;
  uint64_t every_;
  std::vector<std::vector<uint32_t>> conditions_;  // per candidate: code addresses

  // Recent choices by list and values of the registers `recent_registers_`; nullptr if the table
  // has too few conditions, or if a condition depends on more than these registers.
  std::unique_ptr<Recent> recent_;
  std::array<uint32_t, Recent::kNumWords - 1> recent_registers_;
  // True if there are recent choices and all parameters are values.  Then `recent_arguments_` has
  // the indices of the arguments whose values the registers receive.
  bool has_only_values_ = false;
  std::array<uint32_t, Recent::kNumWords - 1> recent_arguments_;
  uint32_t first_device_tensor_ = 0;  // unused if the program has no device tensors

  // Lists that calls read without a lock: of the CPU, then of the first CUDA devices.
  static constexpr uint32_t kNumCachedLists = 17;
  mutable std::atomic<const List*> cached_lists_[kNumCachedLists] = {};
  mutable std::mutex mutex_;                           // guards lists_
  mutable std::map<std::pair<int, int>, List> lists_;  // by device type and id
};

}  // namespace tvm::ffi::extra::dispatch

#endif  // TVM_FFI_RUNTIME_EXTRA_DISPATCH_CANDIDATE_TABLE_H_
