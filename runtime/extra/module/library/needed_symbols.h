// SPDX-License-Identifier: Apache-2.0
// What a shared library asks the ABI for, read from its file before the loader runs any of its
// code.  docs/design/load-time-check.md
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_NEEDED_SYMBOLS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_NEEDED_SYMBOLS_H_

#include <string>
#include <string_view>
#include <vector>

namespace tvm::ffi::extra {

// Whether the name belongs to the ABI: its C functions, and what C++ puts into tvm::ffi.
bool IsAbiSymbol(std::string_view name);

struct LibraryFile {
  // Names that the library needs, but that nothing loaded so far defines; a library that it links
  // to may.
  std::vector<std::string> unserved;
  // Why the file cannot be loaded, where the loader would crash instead of saying so.
  std::string defect;
};

// Empty when the file cannot be opened or is no library of this machine: what is wrong with it is
// then the loader's to say.  Reads the part of the symbol table that holds undefined symbols, and
// nothing outside the file, whatever that contains.
LibraryFile ReadLibraryFile(const std::string& path);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_NEEDED_SYMBOLS_H_
