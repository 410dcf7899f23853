// SPDX-License-Identifier: Apache-2.0
// Fast path of launch programs: hoisted constants and quick checks, which are derived when a launch
// program is read.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_FAST_PATH_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_FAST_PATH_H_

#include "cuda/launch_program.h"

namespace tvm::ffi::extra::cuda {

// Prepares the fast path of a validated launch program: moves constants from the code to the
// initial register values, and translates the first check instructions to quick checks.
void BuildFastPath(LaunchProgram* program);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_FAST_PATH_H_
