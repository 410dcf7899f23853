// SPDX-License-Identifier: Apache-2.0
// A launch, when everything is known: the one call of the driver that all of this is for.
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
  void** arguments = nullptr;  // addresses of the values
};

// Launches on the current stream of the device, whose context is current.
//
// Fails: RuntimeError that names kernel, device and launch.
void LaunchKernel(const Driver& driver, Kernel kernel, const std::string& symbol, int device_id,
                  const KernelLaunch& launch);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_KERNEL_LAUNCH_H_
