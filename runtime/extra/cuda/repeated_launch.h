// SPDX-License-Identifier: Apache-2.0
// Repeated launch: the calls of a launch plan by one prepared call.
//
// The first call checks the arguments, computes the launch sizes, and keeps the array of kernel
// arguments.  A later call compares its arguments with those of the call before:
//
//   - Without a difference, the call only launches the kernel.
//   - If only addresses of tensors differ, the call checks the arguments and writes the addresses.
//   - Otherwise the call does the work of the first call.
//
// A repetition allocates only results, and calls only the function of the driver that launches, if
// the context of the kernel is current.  A kernel without a tensor on a device runs on the current
// device, for which each call asks the driver.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_REPEATED_LAUNCH_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_REPEATED_LAUNCH_H_

#include <tvm/ffi/c_api.h>

#include <optional>

#include "cuda/kernel_launch.h"
#include "cuda/launch_call.h"
#include "cuda/launch_memory.h"
#include "cuda/launch_plan.h"
#include "cuda/seen_arguments.h"

namespace tvm::ffi::extra::cuda {

class RepeatedLaunch {
 public:
  // The plan and the images must outlive this object.
  RepeatedLaunch(const LaunchPlan& plan, const ModuleImages& images)
      : plan_(plan), images_(images) {}

  // One thread at a time may call this function.
  //
  // Fails: with the errors of LaunchPlan::Run; the next call then does the work of the first call,
  // or repeats the call before.
  void Run(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

 private:
  void RunFirst(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
  bool CanRepeat(const TVMFFIAny* args, int32_t num_args);
  void SetTensors(const TVMFFIAny* args, int32_t num_args);
  void RunWithResults(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
  void WriteAddresses();

  const LaunchPlan& plan_;
  const ModuleImages& images_;
  SeenArguments seen_;
  std::optional<LaunchCall> call_;  // has the kernel arguments of launch_
  Workspaces workspaces_;
  size_t variant_ = 0;  // index of the launch variant of launch_
  bool runs_on_current_device_ = false;
  KernelLaunch launch_;
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_REPEATED_LAUNCH_H_
