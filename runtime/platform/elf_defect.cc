// SPDX-License-Identifier: Apache-2.0
#include "elf_defect.h"

#include <algorithm>

namespace tvm::ffi::platform {
namespace {

[[gnu::cold]] std::string OtherMachine(const char* field, int value, int expected) {
  return std::string("the file is for another machine: expected ELF ") + field + " " +
         std::to_string(expected) + ", got " + std::to_string(value);
}

// Checks that the library was built for the processor of this machine.
std::string HeaderDefect(const ElfFile& elf) {
  const ElfW(Ehdr) & header = elf.header();
  if (header.e_ident[EI_CLASS] != kNativeElfClass) {
    return OtherMachine("class", header.e_ident[EI_CLASS], kNativeElfClass);
  }
  if (header.e_ident[EI_DATA] != kNativeByteOrder) {
    return OtherMachine("byte order", header.e_ident[EI_DATA], kNativeByteOrder);
  }
  if (kNativeMachine != EM_NONE && header.e_machine != kNativeMachine) {
    return OtherMachine("machine", header.e_machine, kNativeMachine);
  }
  if (header.e_type != ET_DYN) {
    return "the file is not a shared library: expected ELF type " + std::to_string(ET_DYN) +
           ", got " + std::to_string(header.e_type);
  }
  if (header.e_phentsize != sizeof(ElfW(Phdr))) {
    return DamagedFileMessage("expected program headers of " + std::to_string(sizeof(ElfW(Phdr))) +
                              " bytes, got " + std::to_string(header.e_phentsize));
  }
  return "";
}

// Returns the end of a range of bytes in the file, offset + size.  Returns SIZE_MAX if offset +
// size overflows, because no file contains such a range.
size_t EndOf(size_t offset, size_t size) {
  size_t end = 0;
  return __builtin_add_overflow(offset, size, &end) ? SIZE_MAX : end;
}

bool HasSectionHeaders(const ElfW(Ehdr) & header) {
  return header.e_shoff > 0 && header.e_shnum > 0 && header.e_shentsize == sizeof(ElfW(Shdr));
}

// Checks that the file is long enough for all bytes that the headers describe.
std::string LengthDefect(const ElfFile& elf) {
  const ElfW(Ehdr) & header = elf.header();
  size_t end = EndOf(header.e_phoff, header.e_phnum * sizeof(ElfW(Phdr)));
  for (const ElfW(Phdr) & segment : elf.segments()) {
    if (segment.p_type == PT_LOAD) end = std::max(end, EndOf(segment.p_offset, segment.p_filesz));
  }
  if (HasSectionHeaders(header)) {
    end = std::max(end, EndOf(header.e_shoff, header.e_shnum * sizeof(ElfW(Shdr))));
  }
  if (end <= elf.file().size()) return "";
  return "the file is incomplete: expected at least " + std::to_string(end) + " bytes, got " +
         std::to_string(elf.file().size());
}

// Checks that the last section header is not empty.  Linkers write the section headers at the end
// of the file.  If a download sets the length of the file first and is then interrupted, the end of
// the file contains zeros.
std::string ZeroTailDefect(const ElfFile& elf) {
  const ElfW(Ehdr) & header = elf.header();
  if (!HasSectionHeaders(header)) return "";
  ElfW(Shdr) last;
  size_t offset = header.e_shoff + (header.e_shnum - 1) * sizeof(last);
  if (elf.file().ReadUncached(offset, &last) && last.sh_type != SHT_NULL) return "";
  return DamagedFileMessage("the last section header, at byte " + std::to_string(offset) +
                            ", is empty, as after an interrupted download");
}

// Checks that the dynamic section is inside a segment and ends with DT_NULL, because the loader
// reads the section without these checks.
std::string DynamicSectionDefect(const ElfFile& elf) {
  const DynamicSection& dynamic = elf.dynamic();
  if (!dynamic.is_present) return "";  // no defect: the loader reports this case itself
  if (!dynamic.is_in_file) return DamagedFileMessage("the dynamic section is outside the segments");
  if (!dynamic.is_terminated) return DamagedFileMessage("the dynamic section has no DT_NULL entry");
  size_t offset;
  for (auto [address, name] : {std::pair(dynamic.symbol_table, "DT_SYMTAB"),
                               std::pair(dynamic.string_table, "DT_STRTAB")}) {
    if (elf.FindInFile(address, &offset)) continue;
    return DamagedFileMessage(std::string(name) + " is missing or outside the segments");
  }
  return "";
}

}  // namespace

std::string FindFileDefect(const ElfFile& elf) {
  for (auto find_defect : {HeaderDefect, LengthDefect, ZeroTailDefect, DynamicSectionDefect}) {
    std::string defect = find_defect(elf);
    if (!defect.empty()) return defect;
  }
  return "";
}

std::string DamagedFileMessage(const std::string& damage) {
  return "the file is damaged: " + damage + "; copy or build it again";
}

}  // namespace tvm::ffi::platform
