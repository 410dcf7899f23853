// SPDX-License-Identifier: Apache-2.0
#include "macho_image.h"

#include <cstring>

namespace tvm::ffi::platform {

MachoImage::MachoImage(const void* start) : header_(static_cast<const mach_header_64*>(start)) {
  const symtab_command* table = nullptr;
  const segment_command_64* link_data = nullptr;
  ForEachCommand([&](const load_command* command) {
    if (command->cmd == LC_SYMTAB) table = reinterpret_cast<const symtab_command*>(command);
    if (command->cmd != LC_SEGMENT_64) return;
    auto* segment = reinterpret_cast<const segment_command_64*>(command);
    if (std::strcmp(segment->segname, SEG_TEXT) == 0) {
      slide_ = reinterpret_cast<uintptr_t>(start) - static_cast<uintptr_t>(segment->vmaddr);
    }
    if (std::strcmp(segment->segname, SEG_LINKEDIT) == 0) link_data = segment;
    FindTextSection(*segment);
  });
  if (table == nullptr || link_data == nullptr) return;
  // The commands have offsets in the file; the segment with the tables is mapped at another one.
  auto tables = static_cast<uintptr_t>(link_data->vmaddr) + slide_ -
                static_cast<uintptr_t>(link_data->fileoff);
  symbols_ = reinterpret_cast<const nlist_64*>(tables + table->symoff);
  names_ = reinterpret_cast<const char*>(tables + table->stroff);
  num_symbols_ = table->nsyms;
}

void MachoImage::FindTextSection(const segment_command_64& segment) {
  auto* section = reinterpret_cast<const section_64*>(&segment + 1);
  for (uint32_t i = 0; i < segment.nsects; ++i, ++section) {
    ++num_sections_;
    bool is_text = std::strncmp(section->segname, SEG_TEXT, sizeof(section->segname)) == 0 &&
                   std::strncmp(section->sectname, SECT_TEXT, sizeof(section->sectname)) == 0;
    if (is_text) text_section_ = num_sections_;
  }
}

size_t MachoImage::BytesFrom(uintptr_t address) const {
  size_t num_left = 0;
  ForEachCommand([&](const load_command* command) {
    if (command->cmd != LC_SEGMENT_64) return;
    auto* segment = reinterpret_cast<const segment_command_64*>(command);
    uintptr_t begin = static_cast<uintptr_t>(segment->vmaddr) + slide_;
    if (address >= begin && address - begin < segment->vmsize) {
      num_left = static_cast<size_t>(segment->vmsize) - (address - begin);
    }
  });
  return num_left;
}

}  // namespace tvm::ffi::platform
