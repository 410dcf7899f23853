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
  // The module whose functions are the library's symbols.  An embedded module tree may contain
  // several such modules, of which this is the last, or none (nullopt).
  std::optional<Module> library;
  // The module that loading the library returns: the root of the embedded module tree, or the
  // module in `library` if the library embeds no tree.
  Module root;
};

// Creates a module over the library, stores the context symbols into it, and loads its embedded
// modules.  Runs third-party loaders.
LoadedLibrary LoadLibrary(std::unique_ptr<Library> library);

// Points the library's `__tvm_ffi__library_ctx` at the loaded module, through which generated code
// looks up its imports.  The symbol may have pointed at an earlier module of the same library. Call
// this after the whole load succeeded, so that a failed load does not replace the earlier module.
void FillContextSlot(const LoadedLibrary& loaded);

// Returns the function names of a library module; an empty array for a module of another class.
Array<String> LibraryFunctionNames(const Module& module);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_MODULE_H_
