// SPDX-License-Identifier: Apache-2.0
// Damage check of an ELF library file: wrong machine, truncated file, zeros at the end.
//
// The dynamic loader trusts the headers of a file and crashes if segments are missing.
// docs/design/load-time-check.md
#ifndef TVM_FFI_RUNTIME_PLATFORM_ELF_DEFECT_H_
#define TVM_FFI_RUNTIME_PLATFORM_ELF_DEFECT_H_

#include <string>

#include "elf_file.h"

namespace tvm::ffi::platform {

// Returns one sentence that describes the damage of a library file; "" if the loader may open the
// file.  Reads only the ELF header, the program headers and the last section header, not code, data
// or tables.
std::string FindFileDefect(const ElfFile& elf);

// Returns the error message for a damaged file, with the advice to copy or build the file again.
// `damage` is the part of the message that describes the damage.
std::string DamagedFileMessage(const std::string& damage);

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_ELF_DEFECT_H_
