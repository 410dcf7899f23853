// SPDX-License-Identifier: Apache-2.0
// Readable extent of a data symbol in a loaded ELF library.
#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform.h"

namespace tvm::ffi::platform {
namespace {

// Returns the size of a symbol as given in the dynamic symbol table; 0 if the size is unknown.
size_t SizeOfSymbol([[maybe_unused]] const void* address, [[maybe_unused]] const char* symbol) {
#ifdef __GLIBC__
  Dl_info found;
  void* entry = nullptr;
  if (dladdr1(address, &found, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return 0;
  if (found.dli_saddr != address || std::strcmp(found.dli_sname, symbol) != 0) return 0;
  return static_cast<const ElfW(Sym)*>(entry)->st_size;
#else
  return 0;
#endif
}

struct Segment {
  uintptr_t address;  // the address of the symbol, which is inside the segment to find
  // Number of bytes from the address to the end of the segment; 0 if no segment was found.
  size_t num_left;
};

int FindSegment(dl_phdr_info* library, size_t, void* query) {
  auto* segment = static_cast<Segment*>(query);
  for (size_t i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = library->dlpi_phdr[i];
    uintptr_t begin = library->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || segment->address < begin) continue;
    if (segment->address - begin < header.p_memsz) {
      segment->num_left = header.p_memsz - (segment->address - begin);
      return 1;
    }
  }
  return 0;
}

}  // namespace

std::string_view SymbolBytes(const void* address, const char* symbol) {
  const char* first = static_cast<const char*>(address);
  if (size_t size = SizeOfSymbol(address, symbol)) return {first, size};
  Segment segment{reinterpret_cast<uintptr_t>(address), 0};
  dl_iterate_phdr(&FindSegment, &segment);
  if (segment.num_left > 0) return {first, segment.num_left};
  return {first, static_cast<size_t>(~segment.address)};
}

}  // namespace tvm::ffi::platform
