// SPDX-License-Identifier: Apache-2.0
// Library modules: modules whose functions are symbols of a loaded library.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_MODULE_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_MODULE_H_

#include <tvm/ffi/extra/module.h>

#include <memory>
#include <optional>

#include "module/library/library.h"

namespace tvm::ffi::extra {

struct LoadedLibrary {
  // The module whose functions are the library's symbols.  If an embedded module tree contains
  // several such modules, this is the last one; if it contains none, this is nullopt.
  std::optional<Module> library;
  // The module that loading the library returns.  This is the root of the embedded module tree, or
  // the module in `library` if the library embeds no tree.
  Module root;
};

// Creates a module over the library, stores the context symbols (addresses registered by the host)
// into the library, and loads the modules embedded in it.  Runs third-party loaders.
LoadedLibrary LoadLibrary(std::unique_ptr<Library> library);

// Stores the address of the loaded module into the library's `__tvm_ffi__library_ctx`.  Generated
// code looks up its imports through this module.  The symbol may contain an earlier module of the
// same library.  Call this function after the whole load succeeded, so that a failed load does not
// replace the earlier module.
void FillContextSlot(const LoadedLibrary& loaded);

// Returns the function names of a library module; an empty array if the module is not a library
// module.
Array<String> LibraryFunctionNames(const Module& module);

// Returns the symbol that a function of a library module calls, or `entry`, the C entry of the
// function, for other functions.
const void* CodeOfFunction(void* function, const void* entry);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_MODULE_H_
