// SPDX-License-Identifier: Apache-2.0
// GPU architectures: which device image fits which device.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_ARCHITECTURE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_ARCHITECTURE_H_

#include <string>
#include <string_view>

#include "cuda/driver.h"
#include "cuda/image.h"

namespace tvm::ffi::extra::cuda {

// The target of an image: sm_90a is 90 and 'a'.  Number 0 is an unknown target.
struct Architecture {
  int number = 0;
  char suffix = '\0';
};

// Parses "sm_90a"; "" is an unknown target.  Fails: ValueError for other text.
Architecture ReadArchitecture(std::string_view text);

// Returns how well an image fits a device, as a number for comparison; 0 if it cannot run there.
// Machine code is preferred to PTX, which the driver must compile, and newer code to older.  The
// suffix `a` means one device, `f` one family.  capability: 90 for compute capability 9.0.
int ImageFit(ImageFormat format, const Architecture& architecture, int capability);

// Returns the compute capability of a device, which is cached.
//
// Fails: RuntimeError if the driver fails, ValueError for a device id out of range.
int CapabilityOf(const Driver& driver, int device_id);

// Returns the product name of a device.
std::string NameOf(const Driver& driver, int device_id);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_ARCHITECTURE_H_
