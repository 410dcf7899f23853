// SPDX-License-Identifier: Apache-2.0
// GPU architectures: which device image fits which device.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_ARCHITECTURE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_ARCHITECTURE_H_

#include <string>
#include <string_view>

#include "cuda/driver.h"
#include "cuda/image.h"

namespace tvm::ffi::extra::cuda {

// The architecture that a device image was compiled for: "sm_90a" has number 90 and suffix 'a'.
// Number 0 means that the architecture is unknown.
struct Architecture {
  int number = 0;
  char suffix = '\0';
};

// Parses the name of an architecture, such as "sm_90a".  The name "" means an unknown architecture.
// Fails: ValueError for text of another form.
Architecture ReadArchitecture(std::string_view text);

// Returns the rank of an image for a device.  The caller loads the image with the highest rank.
// Rank 0 means that the image cannot run on the device.  Machine code has a higher rank than PTX,
// because the driver must compile PTX first.  Newer code has a higher rank than older code.  Code
// with the suffix `a` runs only on one compute capability, and code with the suffix `f` only on one
// family of GPUs.  capability: the device's compute capability, 90 for 9.0.
int ImageFit(ImageFormat format, const Architecture& architecture, int capability);

// Returns the compute capability of a device, 90 for 9.0.  The result is cached.
//
// Fails: RuntimeError if the driver fails, ValueError for a device id out of range.
int CapabilityOf(const Driver& driver, int device_id);

// Returns the product name of a device, such as "NVIDIA H100".
std::string NameOf(const Driver& driver, int device_id);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_ARCHITECTURE_H_
