// SPDX-License-Identifier: Apache-2.0
// How many bytes of a symbol may be read, whatever its content says.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_SYMBOL_EXTENT_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_SYMBOL_EXTENT_H_

#include <string_view>

namespace tvm::ffi::extra {

// The bytes that begin at the symbol's address: as many as its ELF symbol says, else those up to
// the end of the segment that the library was mapped with.  For memory that belongs to no library
// nothing is known, and the view ends with the address space.
std::string_view SymbolBytes(const void* address, const char* symbol);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_SYMBOL_EXTENT_H_
