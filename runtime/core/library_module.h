// SPDX-License-Identifier: Apache-2.0
// Modules whose functions are symbols of a shared library.
//
// A library stays mapped once it is loaded: an object that its code made may outlive the module
// and every function, and only the library knows how to delete it.
#ifndef TVM_FFI_RUNTIME_CORE_LIBRARY_MODULE_H_
#define TVM_FFI_RUNTIME_CORE_LIBRARY_MODULE_H_

#include <string>
#include <string_view>

#include "module.h"

namespace tvm::ffi::runtime {

// Prefixes and names of the symbols that a library may define.
inline constexpr std::string_view kFunctionSymbolPrefix = "__tvm_ffi_";
inline constexpr std::string_view kMetadataSymbolPrefix = "__tvm_ffi__metadata_";
inline constexpr std::string_view kDocSymbolPrefix = "__tvm_ffi__doc_";
inline constexpr const char* kLibraryContextSymbol = "__tvm_ffi__library_ctx";
inline constexpr const char* kLibraryBinarySymbol = "__tvm_ffi__library_bin";

// Opens the library and makes a module over it.  A second module over a loaded file is a new
// object over the same library.
ModuleRef LoadLibraryModule(std::string_view path);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_LIBRARY_MODULE_H_
