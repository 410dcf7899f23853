// SPDX-License-Identifier: Apache-2.0
// The device of the calling thread: where a launch goes that has no tensor to say where.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_CURRENT_DEVICE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_CURRENT_DEVICE_H_

#include "cuda/driver.h"

namespace tvm::ffi::extra::cuda {

// The device of the thread's current context, without one the first.
int CurrentDevice(const Driver& driver);

// Makes the primary context of a device the thread's current one, and it stays that, as after
// cudaSetDevice.  What host code calls that passes addresses to kernels.  Devices that are the host
// need nothing done.
//
// Fails: ValueError for a device that is no CUDA one; RuntimeError without a driver, or from it.
void SetDevice(int device_type, int device_id);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_CURRENT_DEVICE_H_
