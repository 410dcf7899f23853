// SPDX-License-Identifier: Apache-2.0
#include "cuda/repeated_launch.h"

#include <tvm/ffi/extra/c_prepared.h>

#include <utility>
#include <vector>

#include "checks/tensor_properties.h"
#include "cuda/current_device.h"

namespace tvm::ffi::extra::cuda {

void RepeatedLaunch::Run(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  if (TVM_FFI_PREDICT_FALSE(!CanRepeat(args, num_args))) return RunFirst(args, num_args, result);
  if (!plan_.program().results.empty()) return RunWithResults(args, num_args, result);
  LaunchKernelAgain(Driver::Get(), &launch_);
}

TVM_FFI_INLINE bool RepeatedLaunch::CanRepeat(const TVMFFIAny* args, int32_t num_args) {
  SeenArguments::Difference difference = seen_.From(args, num_args);
  if (TVM_FFI_PREDICT_FALSE(difference == SeenArguments::Difference::kOther)) return false;
  if (runs_on_current_device_ && CurrentDevice(Driver::Get()) != launch_.device_id) return false;
  if (TVM_FFI_PREDICT_TRUE(difference == SeenArguments::Difference::kNone)) return true;
  LaunchCall checked(plan_.program(), args, num_args);
  seen_.Clear();
  SetTensors(args, num_args);
  // RunWithResults writes the addresses of arguments and results.
  if (plan_.program().results.empty()) WriteAddresses();
  seen_.Store(args, num_args);
  return true;
}

TVM_FFI_NO_INLINE void RepeatedLaunch::RunFirst(const TVMFFIAny* args, int32_t num_args,
                                                TVMFFIAny* result) {
  seen_.Clear();
  const LaunchCall& call = call_.emplace(plan_.program(), args, num_args);
  const Driver& driver = Driver::Get();
  LaunchPlan::Choice choice = plan_.Choose(images_, driver, &*call_);
  variant_ = choice.variant;
  runs_on_current_device_ = plan_.FirstTensorOf(call) == nullptr;
  std::vector<Tensor> results;
  workspaces_ = Workspaces();  // frees the previous workspaces first
  Workspaces workspaces;
  if (plan_.needs_memory()) {
    results = AllocateResults(plan_.program(), choice.device_id, &*call_);
    workspaces = Workspaces(plan_.program().variants[variant_], choice.device_id, call);
  }
  plan_.Launch(driver, choice, call, &launch_);
  workspaces_ = std::move(workspaces);
  ReturnResults(results, result);
  seen_.Store(args, num_args);
}

void RepeatedLaunch::RunWithResults(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  SetTensors(args, num_args);  // the shapes of results may depend on the tensors of this call
  std::vector<Tensor> results = AllocateResults(plan_.program(), launch_.device_id, &*call_);
  WriteAddresses();
  LaunchKernelAgain(Driver::Get(), &launch_);
  ReturnResults(results, result);
}

// Stores the tensors of the arguments, which have the properties of the seen arguments, in the
// tensor slots of the call.
void RepeatedLaunch::SetTensors(const TVMFFIAny* args, int32_t num_args) {
  for (int32_t i = 0; i < num_args; ++i) {
    const DLTensor* tensor = TVMFFIPreparedTensorOf(&args[i]);
    if (tensor != nullptr) call_->set_tensor(static_cast<uint32_t>(i), tensor);
  }
}

// Writes the addresses of the tensors into the kernel arguments.
void RepeatedLaunch::WriteAddresses() {
  const LaunchVariant& variant = plan_.program().variants[variant_];
  for (size_t i = 0; i < variant.arguments.size(); ++i) {
    const LaunchArgument& argument = variant.arguments[i];
    if (argument.kind != LaunchArgumentKind::kTensor) continue;
    const DLTensor* tensor = call_->tensor(argument.index);
    if (tensor == nullptr) continue;
    call_->slots()[i].integer = static_cast<int64_t>(checks::AddressOf(*tensor));
  }
}

}  // namespace tvm::ffi::extra::cuda
