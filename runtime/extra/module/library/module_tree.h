// SPDX-License-Identifier: Apache-2.0
// Modules from the serialized ones that a library carries.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_MODULE_TREE_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_MODULE_TREE_H_

#include <tvm/ffi/extra/module.h>

#include <string>
#include <vector>

#include "module/library/library_binary.h"

namespace tvm::ffi::extra {

// Makes the modules with the global functions ffi.Module.load_from_bytes.KIND, lets them import
// each other, and returns the first; `libraries` are those that stand for the library, in order.
// Fails: RuntimeError before any loader is called when one is missing; what a loader or a module's
// ImportModule throws.  The modules made until then are released.
Module BuildModuleTree(const LibraryBinary& binary, const std::vector<Module>& libraries,
                       const std::string& library);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_MODULE_TREE_H_
