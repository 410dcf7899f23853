// SPDX-License-Identifier: Apache-2.0
// Damage of a library's file that the loader does not notice, but crashes of.
// docs/design/load-time-check.md
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_FILE_DEFECT_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_FILE_DEFECT_H_

#include <string>

#include "module/library/elf_file.h"

namespace tvm::ffi::extra {

// One sentence, or empty.  Looks at the header, the program headers, the dynamic section, and where
// the tables begin and end that it names; never at all of a table or of the code.
std::string DefectOf(const ElfFile& elf);

// The sentence about damage that was found elsewhere.
std::string DamagedFile(const std::string& what);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_FILE_DEFECT_H_
