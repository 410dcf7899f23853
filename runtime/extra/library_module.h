// SPDX-License-Identifier: Apache-2.0
// Modules whose functions are symbols of a library.
#ifndef TVM_FFI_RUNTIME_EXTRA_LIBRARY_MODULE_H_
#define TVM_FFI_RUNTIME_EXTRA_LIBRARY_MODULE_H_

#include <tvm/ffi/extra/module.h>

#include <memory>

#include "library.h"

namespace tvm::ffi::extra {

// Makes a module over the library and fills the data slots through which the library reaches its
// module and the host.  A second module over the same library takes the slots over.
Module NewLibraryModule(std::unique_ptr<Library> library);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_LIBRARY_MODULE_H_
