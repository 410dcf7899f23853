// SPDX-License-Identifier: Apache-2.0
// Registration of the extra layer: declared here, defined in runtime/extra/registration.cc.
#ifndef TVM_FFI_RUNTIME_CORE_EXTRA_REGISTRATION_H_
#define TVM_FFI_RUNTIME_CORE_EXTRA_REGISTRATION_H_

namespace tvm::ffi::runtime {

// Registers the functions, types and attributes of runtime/extra.  The core calls it once, while
// the library is loaded.
void RegisterExtra();

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_EXTRA_REGISTRATION_H_
