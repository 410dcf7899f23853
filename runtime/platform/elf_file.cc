// SPDX-License-Identifier: Apache-2.0
#include "elf_file.h"

#include <cstdint>
#include <cstring>

namespace tvm::ffi::platform {
namespace {

constexpr size_t kUsualNumSegments = 12;

}  // namespace

ElfFile::ElfFile(FileReader& file) : file_(file) {
  if (!file_.Read(0, &header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return;
  is_elf_ = true;
  if (!IsNativeFormat()) return;
  ReadSegments();
  ReadDynamicSection();
}

bool ElfFile::IsNativeFormat() const {
  return header_.e_ident[EI_CLASS] == kNativeElfClass &&
         header_.e_ident[EI_DATA] == kNativeByteOrder && header_.e_phentsize == sizeof(ElfW(Phdr));
}

void ElfFile::ReadSegments() {
  segments_.reserve(kUsualNumSegments);
  for (size_t i = 0; i < header_.e_phnum; ++i) {
    ElfW(Phdr) segment;
    size_t offset = 0;
    if (__builtin_add_overflow(header_.e_phoff, i * sizeof(segment), &offset)) return;
    if (!file_.Read(offset, &segment)) return;
    segments_.push_back(segment);
  }
}

void ElfFile::ReadDynamicSection() {
  const ElfW(Phdr)* last = nullptr;  // keep the last PT_DYNAMIC, as the loader does
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type == PT_DYNAMIC && segment.p_filesz > 0) last = &segment;
  }
  dynamic_.is_present = last != nullptr;
  if (last == nullptr) return;
  size_t offset = 0;
  dynamic_.is_in_file = FindSegment(last->p_vaddr, last->p_filesz) != nullptr &&
                        FindInFile(last->p_vaddr, &offset) &&
                        last->p_filesz <= file_.size() - offset;
  if (!dynamic_.is_in_file) return;
  ElfW(Dyn) entry;
  for (size_t end = offset + last->p_filesz; end - offset >= sizeof(entry);
       offset += sizeof(entry)) {
    if (!file_.Read(offset, &entry)) return;
    if (entry.d_tag == DT_NULL) {
      dynamic_.is_terminated = true;
      return;
    }
    AddDynamicEntry(entry);
  }
}

// Stores an entry of the dynamic section.  If several entries have the same tag, the last entry
// counts, as it does for the loader.
void ElfFile::AddDynamicEntry(const ElfW(Dyn) & entry) {
  auto value = static_cast<size_t>(entry.d_un.d_val);
  if (entry.d_tag == DT_SYMTAB) dynamic_.symbol_table = value;
  if (entry.d_tag == DT_STRTAB) dynamic_.string_table = value;
  if (entry.d_tag == DT_STRSZ) dynamic_.string_table_size = value;
  if (entry.d_tag == DT_GNU_HASH) dynamic_.gnu_hash_table = value;
  if (entry.d_tag == DT_HASH) dynamic_.hash_table = value;
}

// Returns the PT_LOAD segment whose part in the file contains all `size` bytes at the virtual
// address; nullptr if no segment does.
const ElfW(Phdr) * ElfFile::FindSegment(size_t address, size_t size) const {
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    size_t begin = address - segment.p_vaddr;
    if (begin <= segment.p_filesz && size <= segment.p_filesz - begin) return &segment;
  }
  return nullptr;
}

bool ElfFile::FindInFile(size_t address, size_t* offset) const {
  if (address == 0) return false;
  const ElfW(Phdr)* segment = FindSegment(address, 1);
  return segment != nullptr &&
         !__builtin_add_overflow(address - segment->p_vaddr, segment->p_offset, offset) &&
         *offset < file_.size();
}

size_t ElfFile::NumUndefinedSymbols() const {
  size_t offset = 0;
  uint32_t gnu[2] = {};   // GNU hash table header: number of buckets, first defined symbol
  uint32_t sysv[2] = {};  // SysV hash table header: number of buckets, number of symbols
  // Ignore an index of 1: linkers write it into the GNU hash table of a library that defines no
  // symbols.
  if (FindInFile(dynamic_.gnu_hash_table, &offset) && file_.Read(offset, &gnu) && gnu[1] > 1) {
    return gnu[1];
  }
  if (FindInFile(dynamic_.hash_table, &offset) && file_.Read(offset, &sysv)) return sysv[1];
  // Compute the number of symbols from the size of the symbol table, which ends at the string
  // table: linkers put the string table after the symbol table.
  size_t names = dynamic_.string_table, symbols = dynamic_.symbol_table;
  return names > symbols ? (names - symbols) / sizeof(ElfW(Sym)) : 0;
}

}  // namespace tvm::ffi::platform
