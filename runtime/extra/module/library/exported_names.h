// SPDX-License-Identifier: Apache-2.0
// What a loaded library exports, without running any of its code.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_EXPORTED_NAMES_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_EXPORTED_NAMES_H_

#include <string>
#include <vector>

namespace tvm::ffi::extra {

// Names of the functions that the library behind a handle of dlopen defines itself, in no order.
// Read from the memory that the loader mapped, so the file may have been replaced or removed.
// Empty where the loader does not tell.
std::vector<std::string> ExportedNames(void* handle);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_EXPORTED_NAMES_H_
