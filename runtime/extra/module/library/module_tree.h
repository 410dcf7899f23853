// SPDX-License-Identifier: Apache-2.0
// Loading of the module tree that is embedded in a library.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_MODULE_TREE_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_MODULE_TREE_H_

#include <tvm/ffi/extra/module.h>

#include <string>
#include <vector>

#include "module/library/library_binary.h"

namespace tvm::ffi::extra {

// Loads each module of the tree with the global function ffi.Module.load_from_bytes.KIND, connects
// the imports and returns module 0, the root.  `libraries` are the modules for the entries of kind
// `_lib`, in order.
//
// Fails: RuntimeError if a loader is missing, before any loader is called; errors of loaders and of
//        ImportModule.  After a failure, the modules loaded so far are released.
Module BuildModuleTree(const LibraryBinary& binary, const std::vector<Module>& libraries,
                       const std::string& library);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_MODULE_TREE_H_
