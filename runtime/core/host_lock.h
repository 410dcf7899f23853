// SPDX-License-Identifier: Apache-2.0
// The lock that a host lends whose threads run at once, such as a Python without the GIL.
#ifndef TVM_FFI_RUNTIME_CORE_HOST_LOCK_H_
#define TVM_FFI_RUNTIME_CORE_HOST_LOCK_H_

#include <string_view>

#include "extra_layer.h"

namespace tvm::ffi::runtime {

// Of TVMFFIEnvRegisterCAPI; false when the name is none of these functions.
bool LendHostLock(std::string_view name, void* symbol);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_HOST_LOCK_H_
