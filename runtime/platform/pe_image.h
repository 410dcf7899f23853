// SPDX-License-Identifier: Apache-2.0
// The exported names of a PE library in memory.
#ifndef TVM_FFI_RUNTIME_PLATFORM_PE_IMAGE_H_
#define TVM_FFI_RUNTIME_PLATFORM_PE_IMAGE_H_

#include <cstddef>
#include <cstdint>

#include "windows_text.h"

namespace tvm::ffi::platform {

// Calls visit(name, address) for each function or variable that the library exports by name.
// Leaves out names that are forwarded to another library.
template <typename Visit>
void ForEachExport(HMODULE library, Visit visit) {
  auto* start = reinterpret_cast<const char*>(library);
  auto* dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(start);
  auto* headers = reinterpret_cast<const IMAGE_NT_HEADERS*>(start + dos->e_lfanew);
  const IMAGE_DATA_DIRECTORY& entry =
      headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
  if (entry.Size == 0) return;
  auto* table = reinterpret_cast<const IMAGE_EXPORT_DIRECTORY*>(start + entry.VirtualAddress);
  auto* functions = reinterpret_cast<const DWORD*>(start + table->AddressOfFunctions);
  auto* names = reinterpret_cast<const DWORD*>(start + table->AddressOfNames);
  auto* ordinals = reinterpret_cast<const WORD*>(start + table->AddressOfNameOrdinals);
  for (DWORD i = 0; i < table->NumberOfNames; ++i) {
    DWORD offset = functions[ordinals[i]];
    bool is_forwarded =
        offset >= entry.VirtualAddress && offset - entry.VirtualAddress < entry.Size;
    if (!is_forwarded) visit(start + names[i], start + offset);
  }
}

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_PE_IMAGE_H_
