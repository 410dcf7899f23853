// SPDX-License-Identifier: Apache-2.0
// Modules whose functions are symbols of a library.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_MODULE_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_MODULE_H_

#include <tvm/ffi/extra/module.h>

#include <memory>
#include <optional>

#include "module/library/library.h"

namespace tvm::ffi::extra {

struct LoadedLibrary {
  std::optional<Module> library;  // over its symbols; of several the last, none when it is no part
  Module root;  // what stands for the library: the same, or the root of the modules it embeds
};

// Makes a module over the library, fills the data slots through which the library reaches its host,
// and makes the modules that the library embeds.  Runs foreign code.
LoadedLibrary LoadLibrary(std::unique_ptr<Library> library);

// Lets generated code of the library find its imports through this module, and no longer through
// an earlier one over the same library.  For a module that LoadLibrary made, when all of it is
// there: a load that fails half-way must not take an earlier one's place.
void FillContextSlot(const LoadedLibrary& loaded);

// What Library::FunctionNames says; nothing for modules that are not over a library.
Array<String> LibraryFunctionNames(const Module& module);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_MODULE_H_
