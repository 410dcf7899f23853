// SPDX-License-Identifier: Apache-2.0
#include "dispatch/candidate_table.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <set>

#include "content/repr_text.h"

namespace tvm::ffi::extra::dispatch {
namespace {

const FunctionObj* ObjectOf(const Function& function) {
  return static_cast<const FunctionObj*>(function.get());
}

std::string NameOfDevice(DLDevice device) {
  std::string name;
  AppendDevice(device, &name);
  return name;
}

// Returns the name of a device type, such as "cuda".
std::string NameOfDeviceType(int32_t device_type) {
  std::string name = NameOfDevice({static_cast<DLDeviceType>(device_type), 0});
  return name.substr(0, name.find(':'));
}

}  // namespace

CandidateTable::CandidateTable(DispatchProgram program, Array<Function> functions,
                               const Array<Any>& defaults, Optional<Function> shadow, int64_t every)
    : program_(std::move(program)),
      functions_(std::move(functions)),
      defaults_(defaults.begin(), defaults.end()),
      owned_shadow_(std::move(shadow)),
      shadow_(owned_shadow_.has_value() ? ObjectOf(owned_shadow_.value()) : nullptr),
      every_(static_cast<uint64_t>(every)) {
  if (functions_.size() != program_.candidates.size() ||
      defaults_.size() > program_.checks.num_parameters || every < 1) {
    TVM_FFI_THROW(ValueError) << program_.name << ": expected a function for each of "
                              << program_.candidates.size() << " candidates, at most "
                              << program_.checks.num_parameters
                              << " defaults and a positive number of calls, got "
                              << functions_.size() << ", " << defaults_.size() << " and " << every;
  }
  for (const Candidate& candidate : program_.candidates) {
    conditions_.emplace_back();
    for (uint32_t index : candidate.conditions) {
      conditions_.back().push_back(program_.conditions[index].start);
    }
  }
  if (!program_.device_tensors.empty()) first_device_tensor_ = program_.device_tensors[0];
  PrepareRecent();
}

// ---- Recent choices -----------------------------------------------------------------------------

// The cache costs as much as the evaluation of about two conditions.
constexpr size_t kFewConditions = 2;

void CandidateTable::PrepareRecent() {
  if (program_.conditions.size() <= kFewConditions) return;
  std::set<uint32_t> registers;
  for (const Condition& condition : program_.conditions) {
    if (condition.values.empty()) return;  // compares an argument with None
    for (const NamedValue& value : condition.values) registers.insert(value.register_index);
  }
  if (registers.size() > recent_registers_.size()) return;
  recent_registers_.fill(*registers.begin());
  std::copy(registers.begin(), registers.end(), recent_registers_.begin());
  recent_ = std::make_unique<Recent>();
  has_only_values_ = FindRecentArguments();
}

// Returns true if all parameters are values.  Then recent_arguments_ has, for each of
// recent_registers_, the index of the argument whose value the register receives.
bool CandidateTable::FindRecentArguments() {
  const checks::CheckProgram& checks = program_.checks;
  bool has_tensors = std::any_of(checks.arguments.begin(), checks.arguments.end(),
                                 [](const auto& check) { return check.is_direct; });
  if (has_tensors || !checks.is_direct || checks.has_code) return false;
  for (size_t i = 0; i < recent_registers_.size(); ++i) {
    auto found =
        std::find_if(checks.arguments.begin(), checks.arguments.end(), [&](const auto& check) {
          return check.stores_int && check.name.value == recent_registers_[i];
        });
    if (found == checks.arguments.end()) return false;
    recent_arguments_[i] = static_cast<uint32_t>(found - checks.arguments.begin());
  }
  return true;
}

const CandidateTable::Choice& CandidateTable::ChooseAgain(const List& list, const Recent::Key& key,
                                                          DispatchRun* run) const {
  const Choice& choice = ChooseFirst(list, run);
  recent_->Store(key, &choice);
  return choice;
}

// The first device tensor is None.
DLDevice CandidateTable::LaterDeviceOf(const DispatchRun& run) const {
  for (uint32_t index : program_.device_tensors) {
    if (const DLTensor* tensor = run.tensor(index)) return tensor->device;
  }
  return {kDLCPU, 0};
}

// ---- Lists of devices ---------------------------------------------------------------------------

// Returns the list of a device; creates it in the first call for the device.  The list is created
// without the lock, because the CUDA driver may be opened.
TVM_FFI_NO_INLINE const CandidateTable::List& CandidateTable::NewListFor(DLDevice device) const {
  int id = device.device_type == kDLCPU ? 0 : device.device_id;
  std::pair<int, int> key(static_cast<int>(device.device_type), id);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto known = lists_.find(key);
    if (known != lists_.end()) return known->second;
  }
  List list;
  for (size_t i = 0; i < program_.candidates.size(); ++i) {
    if (!ReasonAgainst(program_.candidates[i], device).empty()) continue;
    list.push_back({ObjectOf(functions_[static_cast<int64_t>(i)]), static_cast<uint32_t>(i),
                    static_cast<uint32_t>(conditions_[i].size()), conditions_[i].data()});
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const List& stored = lists_.emplace(key, std::move(list)).first->second;
  uint32_t index = IndexOfList(device);
  if (index < kNumCachedLists) cached_lists_[index].store(&stored, std::memory_order_release);
  return stored;
}

// ---- Reasons ------------------------------------------------------------------------------------

std::string CandidateTable::ReasonAgainst(const Candidate& candidate, DLDevice device) const {
  if (!candidate.unavailable.empty()) return candidate.unavailable;
  if (candidate.device_type >= 0 &&
      candidate.device_type != static_cast<int32_t>(device.device_type)) {
    return "runs on " + NameOfDeviceType(candidate.device_type) + ", the arguments are on " +
           NameOfDevice(device);
  }
  if (candidate.architecture.number == 0) return "";
  int capability = cuda::CapabilityOf(cuda::Driver::Get(), device.device_id);
  // A candidate runs on the GPUs for which the driver can compile PTX of its architecture.
  if (cuda::ImageFit(cuda::ImageFormat::kPtx, candidate.architecture, capability) > 0) return "";
  return "needs " + candidate.architecture_text + ", " + NameOfDevice(device) + " has sm_" +
         std::to_string(capability);
}

std::string CandidateTable::ReasonAgainst(const Candidate& candidate, DispatchRun* run) const {
  std::string reason = ReasonAgainst(candidate, DeviceOf(*run));
  if (!reason.empty()) return reason;
  for (uint32_t index : candidate.conditions) {
    const Condition& condition = program_.conditions[index];
    if (run->Holds(condition.start, program_.result)) continue;
    std::string values = ValuesOf(condition, *run);
    return "`" + condition.text + "` is false" + (values.empty() ? "" : ": " + values);
  }
  return "";
}

std::string CandidateTable::ValuesOf(const Condition& condition, const DispatchRun& run) const {
  std::string text;
  for (const NamedValue& named : condition.values) {
    int64_t value = run.value(named.register_index);
    text += (text.empty() ? "" : ", ") + named.name + " = ";
    if (named.dtype_set == kNone) {
      text += std::to_string(value);
      continue;
    }
    const std::vector<DLDataType>& dtypes = program_.checks.dtype_sets[named.dtype_set];
    auto index = static_cast<uint64_t>(value) - 1;
    text += index < dtypes.size() ? checks::DtypeText(dtypes[index]) : "no dtype";
  }
  return text;
}

void CandidateTable::FailNone(DispatchRun* run) const {
  if (program_.candidates.empty()) {
    TVM_FFI_THROW(RuntimeError) << program_.name
                                << "(): there are no candidates; add one with `add`";
  }
  std::string reasons;
  for (const Candidate& candidate : program_.candidates) {
    reasons += "\n  " + candidate.name + ": " + ReasonAgainst(candidate, run);
  }
  TVM_FFI_THROW(ValueError) << program_.name << "(): no candidate fits the arguments:" << reasons;
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra::dispatch
