// SPDX-License-Identifier: Apache-2.0
// The bytes in which a library carries serialized modules and what imports what
// (`__tvm_ffi__library_bin`), decoded and checked.  All integers are 64 bits, little-endian:
//
//   total                     bytes that follow
//   count, row pointers       one more than there are modules; the first is 0
//   count, children           indices of modules: module i imports children[row[i] .. row[i+1])
//   for each module           size and text of the kind, then size and bytes of the payload
//
// The kind `_lib` is the library itself and has no payload; it may occur several times, where code
// of several modules was linked into one library.  Module 0 stands for the whole.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_BINARY_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_BINARY_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tvm::ffi::extra {

struct LibraryBinary {
  struct Entry {
    std::string_view kind;     // UTF-8, not empty, without NUL
    std::string_view payload;  // may be empty
    size_t first_import;       // where its part of `imports` begins
    size_t end_import;
    bool IsLibrary() const { return kind == "_lib"; }
  };
  std::vector<Entry> entries;           // at least one
  std::vector<size_t> imports;          // indices of entries; there is no cycle
  std::vector<size_t> importers_first;  // all indices, each before those it imports
};

// Decodes what begins at the first byte; more may follow.  The result refers to the bytes.
// Memory is bounded by a small multiple of the bytes.
// Fails: RuntimeError that names the library, the byte and what is wrong there.
LibraryBinary DecodeLibraryBinary(std::string_view bytes, const std::string& library);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_LIBRARY_BINARY_H_
