// SPDX-License-Identifier: Apache-2.0
// Shortcuts in a launch program, which are found when it is read and taken by every call.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_SHORTCUTS_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_SHORTCUTS_H_

#include "cuda/launch_program.h"

namespace tvm::ffi::extra::cuda {

// Lets registers of a checked program begin with the constants that it puts into them, and reads
// the quick checks off its first instructions, as many of them as have such a form.
void AddShortcuts(LaunchProgram* program);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_SHORTCUTS_H_
