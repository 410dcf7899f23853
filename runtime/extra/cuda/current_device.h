// SPDX-License-Identifier: Apache-2.0
// Current CUDA device of the calling thread, for launches without tensor arguments.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_CURRENT_DEVICE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_CURRENT_DEVICE_H_

#include "cuda/driver.h"

namespace tvm::ffi::extra::cuda {

// Returns the id of the device of the thread's current CUDA context, or 0 if it has no context.
int CurrentDevice(const Driver& driver);

// Makes the primary context of a device current on this thread permanently, as cudaSetDevice does.
// Host code that passes addresses to kernels calls this.  Does nothing for host devices.
//
// Fails: ValueError for a device that is not a CUDA device; RuntimeError without a driver or if the
//        driver fails.
void SetDevice(int device_type, int device_id);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_CURRENT_DEVICE_H_
