// SPDX-License-Identifier: Apache-2.0
// What this layer adds to the type and function tables; registration.cc lists it.
//
// Each is called from there, not from a static initialiser of its own file, so that a static link
// does not leave that file out.
#ifndef TVM_FFI_RUNTIME_EXTRA_REGISTRATION_H_
#define TVM_FFI_RUNTIME_EXTRA_REGISTRATION_H_

namespace tvm::ffi::extra {

void RegisterModuleType();
void RegisterModuleFunctions();

}  // namespace tvm::ffi::extra

// What runtime/core calls as the library is loaded; declared there as well, in builtin.h.
namespace tvm::ffi::runtime {
void RegisterExtra();
}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_EXTRA_REGISTRATION_H_
