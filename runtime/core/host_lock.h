// SPDX-License-Identifier: Apache-2.0
// Registration of the per-object lock of a host without a GIL, such as free-threaded Python.
#ifndef TVM_FFI_RUNTIME_CORE_HOST_LOCK_H_
#define TVM_FFI_RUNTIME_CORE_HOST_LOCK_H_

#include <string_view>

#include "extra_layer.h"

namespace tvm::ffi::runtime {

// Registers one of the two functions of HostLock for TVMFFIEnvRegisterCAPI.  Returns false if
// `name` is not the name of one of them.
bool RegisterHostLockFunction(std::string_view name, void* symbol);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_HOST_LOCK_H_
