// SPDX-License-Identifier: Apache-2.0
// Which device code runs where.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_ARCHITECTURE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_ARCHITECTURE_H_

#include <string>
#include <string_view>

#include "cuda/driver.h"
#include "cuda/image.h"

namespace tvm::ffi::extra::cuda {

// What an image is for: sm_90a is 90 and 'a'; 0 where it does not say.
struct Architecture {
  int number = 0;
  char suffix = '\0';
};

// Fails: ValueError for other text than "" and the like of "sm_90a".
Architecture ReadArchitecture(std::string_view text);

// How well an image fits a device of a compute capability, 90 for 9.0; 0 for not at all.  Code of
// the machine comes before PTX, which is compiled first, and newer code before older.  What ends in
// `a` is for one device, in `f` for one family.
int FitOf(ImageFormat format, const Architecture& architecture, int capability);

// The compute capability of a device; asked once.
//
// Fails: RuntimeError when the driver does, ValueError for numbers that no device has.
int CapabilityOf(const Driver& driver, int device_id);

// What its maker calls a device.
std::string NameOf(const Driver& driver, int device_id);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_ARCHITECTURE_H_
