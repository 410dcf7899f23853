// SPDX-License-Identifier: Apache-2.0
#include "module/library/symbol_extent.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tvm::ffi::extra {
namespace {

// Size in the table of dynamic symbols; 0 when it does not tell.
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
  uintptr_t inside;  // an address
  size_t num_left;   // bytes from there to the segment's end; 0 while it is not found
};

int FindSegment(dl_phdr_info* library, size_t, void* query) {
  auto* segment = static_cast<Segment*>(query);
  for (size_t i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = library->dlpi_phdr[i];
    uintptr_t begin = library->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || segment->inside < begin) continue;
    if (segment->inside - begin < header.p_memsz) {
      segment->num_left = header.p_memsz - (segment->inside - begin);
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
  return {first, static_cast<size_t>(~segment.inside)};
}

}  // namespace tvm::ffi::extra
