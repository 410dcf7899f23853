// SPDX-License-Identifier: Apache-2.0
// Readable extent of a data symbol in a loaded library.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_SYMBOL_EXTENT_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_SYMBOL_EXTENT_H_

#include <string_view>

namespace tvm::ffi::extra {

// Returns the bytes of a symbol.  Their number is the size in the ELF symbol; if the symbol has no
// size, the bytes end with the segment of the symbol.  If the address is outside all libraries, the
// size is unknown, and the view ends at the end of the address space.
std::string_view SymbolBytes(const void* address, const char* symbol);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_SYMBOL_EXTENT_H_
