// SPDX-License-Identifier: Apache-2.0
// LaunchCall: one call of a launch plan, from the checks of its arguments to the launch sizes.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_

#include <tvm/ffi/c_api.h>

#include "checks/run.h"
#include "cuda/arguments.h"
#include "cuda/launch_program.h"

namespace tvm::ffi::extra::cuda {

// The scratch words are a base class, so that they exist before CheckRun uses them.
class LaunchCall : private checks::Scratch, public checks::CheckRun {
 public:
  // Checks the arguments, which are borrowed for the lifetime of this object.
  //
  // Fails: with the error that the launch program contains for the failed check.
  LaunchCall(const LaunchProgram& program, const TVMFFIAny* args, int32_t num_args)
      : Scratch(NumSlots(program.checks) + 2 * program.max_kernel_arguments),
        CheckRun(program.checks, args, num_args, at<int64_t>(0)),
        slots_(at<Slot>(NumSlots(program.checks))),
        addresses_(at<void*>(NumSlots(program.checks) + program.max_kernel_arguments)) {
    Check();
  }
  LaunchCall(const LaunchCall&) = delete;
  LaunchCall& operator=(const LaunchCall&) = delete;

  // Storage for the kernel arguments and their addresses.
  Slot* slots() const { return slots_; }
  void** addresses() const { return addresses_; }

 private:
  Slot* slots_;
  void** addresses_;
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_CALL_H_
