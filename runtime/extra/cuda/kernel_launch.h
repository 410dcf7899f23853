// SPDX-License-Identifier: Apache-2.0
// Kernel launch through cuLaunchKernel or cuLaunchKernelEx.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_KERNEL_LAUNCH_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_KERNEL_LAUNCH_H_

#include <string>

#include "cuda/driver.h"
#include "cuda/signature.h"

namespace tvm::ffi::extra::cuda {

struct KernelLaunch {
  LaunchValues fields;
  bool has_cluster = false;
  bool is_cooperative = false;
  bool is_programmatic = false;
  void** arguments = nullptr;  // address of each kernel argument
  Kernel kernel = nullptr;
  Context context = nullptr;            // the context of the kernel
  const std::string* symbol = nullptr;  // name of the kernel for messages
  int device_id = 0;
  // True if the last launch had to make the context current.
  bool needs_context = false;
};

// Launches a kernel on the current stream of its device.  The context of the kernel must be
// current.
//
// Fails: RuntimeError that names the kernel, the device, grid, block and shared memory.
void LaunchKernel(const Driver& driver, const KernelLaunch& launch);
// Launches a kernel again, under any current context.  The function asks for the current context
// only if the last launch had to change it, or the driver refuses the launch because of it.
void LaunchKernelAgain(const Driver& driver, KernelLaunch* launch);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_KERNEL_LAUNCH_H_
