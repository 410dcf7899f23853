// SPDX-License-Identifier: Apache-2.0
// Details of dlopen that differ between POSIX systems.
#ifndef TVM_FFI_RUNTIME_PLATFORM_POSIX_LOADING_H_
#define TVM_FFI_RUNTIME_PLATFORM_POSIX_LOADING_H_

#include <string>

#include "platform.h"

namespace tvm::ffi::platform {

// Reads the loader's message about a library that it did not open.
LoadFailure DescribeFailure(const std::string& path, const std::string& message);
std::string FileNameOfLibrary(const std::string& name);

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_POSIX_LOADING_H_
