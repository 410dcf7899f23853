// SPDX-License-Identifier: Apache-2.0
// Second copies of this runtime in one process: their types, functions and errors are not ours.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_OTHER_RUNTIMES_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_OTHER_RUNTIMES_H_

namespace tvm::ffi::extra {

// Warns once of each library in the process that has the runtime's name and is not this one.  Looks
// only at libraries that were loaded since the last time; without any it costs one lock of the
// loader.
void WarnOfOtherRuntimes() noexcept;

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_OTHER_RUNTIMES_H_
