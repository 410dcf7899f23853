// SPDX-License-Identifier: Apache-2.0
// Exported function names of a loaded library, read from its symbol table.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_EXPORTED_NAMES_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_EXPORTED_NAMES_H_

#include <string>
#include <vector>

namespace tvm::ffi::extra {

// Returns the names of the functions that the library of a dlopen handle itself defines, in no
// particular order.  The names are read from mapped memory, so the file may have been replaced or
// removed.  Returns an empty result if the C library does not expose the symbol table.
std::vector<std::string> ExportedNames(void* handle);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_EXPORTED_NAMES_H_
