// SPDX-License-Identifier: Apache-2.0
// Decoder of the symbol `__tvm_ffi__library_bin`: serialized modules embedded in a library, and the
// import graph between them.  All integers are 64 bits, little-endian:
//
//   total                     number of bytes after this field
//   count, row pointers       one more than there are modules; the first is 0
//   count, children           indices of modules: module i imports children[row[i] .. row[i+1])
//   for each module           size and text of the kind, then size and bytes of the payload
//
// The kind `_lib` is the library itself and has no payload.  It occurs several times if the code of
// several modules was linked into one library.  Module 0 is the root that loading returns.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_BINARY_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_BINARY_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tvm::ffi::extra {

struct LibraryBinary {
  struct Entry {
    std::string_view kind;     // kind of the module: UTF-8, not empty, without NUL
    std::string_view payload;  // bytes for the loader of the kind; may be empty
    size_t first_import;       // index in `imports` of the module's first import
    size_t end_import;         // index in `imports` after the module's last import
    bool IsLibrary() const { return kind == "_lib"; }
  };
  std::vector<Entry> entries;  // the modules; at least one
  // Imported modules, as indices in `entries`; the imports have no cycle.
  std::vector<size_t> imports;
  // Indices of all `entries`; importers are before their imports.
  std::vector<size_t> importers_first;
};

// Decodes the modules at the beginning of `bytes`.  Bytes after the modules are ignored.  The
// result borrows `bytes`.  Uses memory in proportion to the number of bytes.
//
// Fails: RuntimeError that names the library, the byte offset and the defect.
LibraryBinary DecodeLibraryBinary(std::string_view bytes, const std::string& library);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_BINARY_H_
