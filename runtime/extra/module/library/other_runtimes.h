// SPDX-License-Identifier: Apache-2.0
// Warning about a second copy of the runtime in the process.
//
// A second copy has its own tables of types, functions and errors.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_OTHER_RUNTIMES_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_OTHER_RUNTIMES_H_

namespace tvm::ffi::extra {

// Prints one warning for each other library in the process that is a copy of the runtime.
// Examines only libraries that were loaded since the last call.
void WarnOfOtherRuntimes() noexcept;

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_OTHER_RUNTIMES_H_
