// SPDX-License-Identifier: Apache-2.0
// Launch program: a check program with the launch variants of a launch plan.
//
// `tvm_ffi.codegen` writes launch programs (codegen/_launch_program.py); LaunchCall executes them.
// Numbers have the form that checks/program.h describes; so do the first part of a launch program,
// which is the check program of the arguments, and the code, which also computes the launch sizes.
// The tensor slots after those of the arguments are the results.
//
//   version          2
//   number of results
//   checks           check program
//   first tensor     optional index of the argument on whose device the kernel runs
//   no variant       optional message index, if no variant's condition holds
//   no image         message index, if no image fits the device
//   results          per result: number of extents, and per extent a register index, or -1 for the
//                    extents of an ellipsis; if there is a -1: index of the argument with these
//                    extents, their first dimension, number of its other dimensions; dtype set;
//                    optional register with the index of the dtype in the set
//   variants         number, then each:
//     images         number of image indices of the module, and the indices
//     kernels        number of names, and the names; optional register with the index of the kernel
//     condition      optional code address; register of its result
//     fields         code address; 10 registers, ORDER launch-fields
//     flags          1 cluster, 2 cooperative, 4 programmatic
//     arguments      number, then each: kind (0 register, 1 register as float32, 2 tensor,
//                    3 workspace) and index of the register or tensor
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PROGRAM_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PROGRAM_H_

#include <tvm/ffi/c_api.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checks/program.h"
#include "cuda/signature.h"

namespace tvm::ffi::extra::cuda {

using checks::kNone;

// A result tensor that a launch plan allocates and returns.
struct LaunchResult {
  std::vector<uint32_t> extent_registers;  // kNone: the extents in `gap` of `gap_tensor`
  uint32_t gap_tensor = kNone;             // index of an argument
  checks::Gap gap{};
  uint32_t dtype_set;  // index in CheckProgram::dtype_sets
  // Register with the index of the dtype in the set; kNone if the set has one dtype.
  uint32_t dtype_register;
};

// ORDER launch-argument-kinds.
enum class LaunchArgumentKind : uint32_t { kRegister, kFloat32, kTensor, kWorkspace };

// An argument of a kernel: the tensor slot or register of the interpreter that has its value.
struct LaunchArgument {
  LaunchArgumentKind kind;
  uint32_t index;  // index of a tensor slot if `kind` is kTensor, else of a register
};

// A launch variant of a launch plan: a kernel, its device images, and the condition that selects
// the variant.  The kernel may be compiled for several dtypes.
struct LaunchVariant {
  std::vector<uint32_t> images;  // indices of the device images that contain the kernels; not empty
  // Names of the kernels in the image; several if the dtypes of the tensors select the kernel.
  std::vector<std::string> kernels;
  uint32_t kernel_register;  // register with the index in `kernels`; kNone if there is one kernel
  uint32_t condition;        // code address of the condition; kNone if the variant has no condition
  uint32_t condition_result;  // register with the result of the condition; 0 is false
  uint32_t fields_start;      // code address of the instructions that compute the launch fields
  std::array<uint32_t, kNumLaunchFields> field_registers;
  uint32_t flags;  // sum of flags: 1 cluster, 2 cooperative, 4 programmatic
  std::vector<LaunchArgument> arguments;
};

// A launch program in memory.
struct LaunchProgram {
  checks::CheckProgram checks;
  // If no variant's condition holds; kNone if no_image_failure is used instead.
  uint32_t no_variant_failure;
  uint32_t no_image_failure;
  // Index of the tensor argument on whose device the kernel runs; kNone for the current device.
  uint32_t first_tensor;
  std::vector<LaunchResult> results;
  std::vector<LaunchVariant> variants;  // at least one variant
  size_t max_kernel_arguments = 0;  // the largest number of kernel arguments of a launch variant
};

// Reads and validates a launch program.
//
// Fails: ValueError "corrupt launch program at byte N of M: ...".  Uses memory in proportion to the
//        number of bytes.
LaunchProgram ReadLaunchProgram(std::string_view bytes, size_t num_images);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PROGRAM_H_
