// SPDX-License-Identifier: Apache-2.0
// Load-time check of a library file (CheckLibraryFile): undefined symbols and damage.
//
// The check reads the file before the dynamic loader maps it and runs its initialisers.
// docs/design/load-time-check.md
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_NEEDED_SYMBOLS_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_NEEDED_SYMBOLS_H_

#include <string>
#include <string_view>
#include <vector>

namespace tvm::ffi::extra {

// Returns true for a symbol of the ABI: a C function with the prefix `TVMFFI`, or a C++ name in the
// namespace tvm::ffi.
bool IsAbiSymbol(std::string_view name);

struct LibraryCheck {
  // Symbols that the library needs and that nothing in the process defines.  Another library that
  // the checked library links to may define these symbols.
  std::vector<std::string> missing_symbols;
  // One sentence that describes why the file cannot be loaded; "" if the file is not damaged.
  std::string defect;
};

// Checks a library file: reads its headers and the undefined part of its symbol table.  The result
// is empty if the file cannot be opened or is not an ELF file, because the loader reports these
// cases itself.
LibraryCheck CheckLibraryFile(const std::string& path);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_NEEDED_SYMBOLS_H_
