// SPDX-License-Identifier: Apache-2.0
// Each check asks for what the loader relies on without a look, or for what every linker writes.
// What the loader itself refuses in words is left to it.
#include "module/library/file_defect.h"

#include <unistd.h>

#include <sstream>
#include <utility>

namespace tvm::ffi::extra {
namespace {

// Not in the elf.h of older systems.
constexpr int64_t kRelrSize = 35, kRelr = 36, kRelrEntry = 37;
// A table's contents are looked at up to here.
constexpr size_t kMaxLookedAt = 128;

[[gnu::cold]] std::string Hex(size_t number) {
  std::ostringstream text;
  text << "0x" << std::hex << number;
  return text.str();
}

// What is wrong with one file; the first that is found.
class Examination {
 public:
  explicit Examination(const ElfFile& elf)
      : elf_(elf), file_(elf.file()), header_(elf.header()), dynamic_(elf.dynamic()) {}

  std::string Defect() {
    bool is_whole = HeaderFits() && NothingIsMissing() && SegmentsFit() && PartsFit();
    // The loader says so when there is no dynamic section.
    if (is_whole && HasDynamic()) {
      DynamicSectionFits() && TextsFit() && TablesFit() && CodeFits() && SymbolsFit() &&
          HashTableFits() && VersionsFit() && RelocationsFit();
    }
    return std::move(defect_);
  }

 private:
  // A table of the dynamic section, with the tags of its address, its size and the size of an
  // entry.
  struct Table {
    const char* name;
    int64_t address, size, entry;  // entry is DT_NULL where the section does not tell it
    size_t entry_size, alignment;
    bool is_written;  // by relocations
  };

  // Rare, so that what makes the sentences stays out of the way of the checks.
  [[gnu::cold]] bool Damaged(const std::string& what) {
    defect_ = DamagedFile(what);
    return false;
  }
  [[gnu::cold]] bool Needs(const std::string& what, const std::string& expected, size_t value) {
    return Damaged(what + " must be " + expected + ", got " + Hex(value));
  }

  // --- The header, and the length of the file ---

  bool HeaderFits() {
    constexpr int kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (header_.e_ident[EI_CLASS] != kClass) {
      defect_ = "the file is for another machine: its ELF class is " +
                std::to_string(header_.e_ident[EI_CLASS]) + ", expected " + std::to_string(kClass);
      return false;
    }
    if (!elf_.IsOfThisProcess()) {
      return Damaged(
          "its byte order and the size of its program headers must be those of this "
          "machine, got " +
          std::to_string(header_.e_ident[EI_DATA]) + " and " + std::to_string(header_.e_phentsize));
    }
#ifdef __x86_64__
    if (header_.e_machine != EM_X86_64) {
      defect_ = "the file is for another machine: its ELF machine is " +
                std::to_string(header_.e_machine) + ", expected " + std::to_string(EM_X86_64) +
                " (x86-64)";
      return false;
    }
#endif
    if (header_.e_type != ET_DYN) {
      defect_ = "the file is no shared library: its ELF type is " + std::to_string(header_.e_type) +
                ", expected " + std::to_string(ET_DYN);
      return false;
    }
    return true;
  }

  // SIZE_MAX where no file could have the end.
  static size_t EndOf(size_t offset, size_t size) {
    size_t end = 0;
    return __builtin_add_overflow(offset, size, &end) ? SIZE_MAX : end;
  }

  bool HasSectionHeaders() const {
    return header_.e_shoff > 0 && header_.e_shnum > 0 && header_.e_shentsize == sizeof(ElfW(Shdr));
  }

  bool NothingIsMissing() {
    size_t end = EndOf(header_.e_phoff, header_.e_phnum * sizeof(ElfW(Phdr)));
    for (const ElfW(Phdr) & segment : elf_.segments()) {
      if (segment.p_type == PT_LOAD) end = std::max(end, EndOf(segment.p_offset, segment.p_filesz));
    }
    if (HasSectionHeaders()) {
      end = std::max(end, EndOf(header_.e_shoff, header_.e_shnum * sizeof(ElfW(Shdr))));
    }
    if (end > file_.size()) {
      defect_ = "the file is incomplete: it has " + std::to_string(file_.size()) +
                " bytes of at least " + std::to_string(end);
      return false;
    }
    return EndIsWritten();
  }

  // Linkers write the section headers last.  In a file that was made as long as it should be before
  // its content arrived, the end is zeros.
  bool EndIsWritten() {
    if (!HasSectionHeaders()) return true;
    ElfW(Shdr) last;
    size_t place = header_.e_shoff + (header_.e_shnum - 1) * sizeof(last);
    if (file_.ReadAlone(place, &last) && last.sh_type != SHT_NULL) return true;
    return Damaged("the section header at byte " + std::to_string(place) +
                   ", the last one, must not be empty; the file was probably not written to its "
                   "end");
  }

  // --- Program headers ---

  bool SegmentsFit() {
    size_t number = 0, end = 0, end_in_file = 0;
    for (const ElfW(Phdr) & segment : elf_.segments()) {
      std::string (*name)(size_t) = [](size_t i) { return "program header " + std::to_string(i); };
      size_t index = number++;
      if (segment.p_type != PT_LOAD) continue;
      if (segment.p_filesz > segment.p_memsz) {
        return Needs(name(index) + ": the size in the file",
                     "at most that in memory, " + Hex(segment.p_memsz), segment.p_filesz);
      }
      bool is_aligned = (segment.p_align & (segment.p_align - 1)) == 0 &&
                        ((segment.p_vaddr - segment.p_offset) & (segment.p_align - 1)) == 0;
      if (segment.p_align > 0 && !is_aligned) {
        return Needs(name(index) + ": the alignment",
                     "a power of two that divides the difference of address and offset",
                     segment.p_align);
      }
      if (segment.p_vaddr < end) {
        return Needs(name(index) + ": the address",
                     "behind the segment before, at least " + Hex(end), segment.p_vaddr);
      }
      if (segment.p_filesz > 0 && segment.p_offset < end_in_file) {
        return Needs(name(index) + ": the offset",
                     "behind the segment before, at least " + Hex(end_in_file), segment.p_offset);
      }
      bool is_code = (segment.p_flags & (PF_X | PF_W)) == PF_X;
      if (is_code && segment.p_filesz != segment.p_memsz) {
        return Needs(name(index) + ": the size of code in memory",
                     "that in the file, " + Hex(segment.p_filesz), segment.p_memsz);
      }
      end = EndOf(segment.p_vaddr, segment.p_memsz);
      if (end == SIZE_MAX) {
        return Needs(name(index) + ": the size", "within the address space", segment.p_memsz);
      }
      if (segment.p_filesz > 0) end_in_file = segment.p_offset + segment.p_filesz;
    }
    return true;
  }

  struct HeaderRange {
    const ElfW(Phdr) * first, *last;
    const ElfW(Phdr) * begin() const { return first; }
    const ElfW(Phdr) * end() const { return last; }
  };
  // Of the program headers, those that are compared with segments; libraries have a dozen.
  HeaderRange Headers() const {
    const ElfW(Phdr)* first = elf_.segments().data();
    return {first, first + std::min(elf_.segments().size(), kMaxLookedAt)};
  }

  // What program headers say of parts of the segments.
  bool PartsFit() {
    for (const ElfW(Phdr) & part : Headers()) {
      if (part.p_filesz == 0) continue;
      bool fits = true;
      const char* name = nullptr;
      switch (part.p_type) {
        case PT_PHDR:
          name = "PT_PHDR";
          fits = IsAt(part.p_vaddr, header_.e_phoff);
          break;
        case PT_TLS:
          name = "PT_TLS";
          fits = part.p_filesz <= part.p_memsz && (part.p_align & (part.p_align - 1)) == 0;
          break;
        case PT_GNU_EH_FRAME:
          name = "PT_GNU_EH_FRAME";
          break;
        case PT_NOTE:
          name = "PT_NOTE";
          break;
        case PT_GNU_PROPERTY:
          name = "PT_GNU_PROPERTY";
          break;
        default:
          continue;
      }
      if (!fits || elf_.SegmentAt(part.p_vaddr, part.p_filesz) == nullptr) {
        return Needs(std::string("program header ") + name, "about a part of a segment",
                     part.p_vaddr);
      }
    }
    return ProtectedPartFits();
  }

  // Its pages lose the permission to write when relocations are done.  Linkers round its end up,
  // the loader rounds it down.
  bool ProtectedPartFits() {
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    for (const ElfW(Phdr) & part : Headers()) {
      if (part.p_type != PT_GNU_RELRO || part.p_memsz == 0) continue;
      const ElfW(Phdr)* segment = elf_.SegmentAt(part.p_vaddr, 0, false);
      size_t end = EndOf(part.p_vaddr, part.p_memsz) / page * page;
      bool fits = segment != nullptr && (segment->p_flags & PF_W) != 0 &&
                  end < segment->p_vaddr + segment->p_memsz + page;
      if (!fits) {
        return Needs("program header PT_GNU_RELRO", "about a part of a writable segment",
                     part.p_vaddr);
      }
    }
    return true;
  }

  bool IsAt(size_t address, size_t expected_offset) const {
    size_t offset = 0;
    return elf_.FindInFile(address, &offset) && offset == expected_offset;
  }

  // --- The dynamic section ---

  bool HasDynamic() const {
    for (const ElfW(Phdr) & segment : elf_.segments()) {
      if (segment.p_type == PT_DYNAMIC && segment.p_filesz > 0) return true;
    }
    return false;
  }

  bool DynamicSectionFits() {
    for (const ElfW(Phdr) & part : Headers()) {
      if (part.p_type != PT_DYNAMIC || part.p_filesz == 0) continue;
      const ElfW(Phdr)* segment = elf_.SegmentAt(part.p_vaddr, part.p_filesz);
      // The loader writes into it unless the header says that it cannot.
      bool fits = segment != nullptr && part.p_vaddr % sizeof(void*) == 0 &&
                  (part.p_flags & PF_W & ~segment->p_flags) == 0;
      if (!fits) {
        return Needs("program header PT_DYNAMIC", "about a part of a segment", part.p_vaddr);
      }
    }
    if (dynamic_.is_outside) return Damaged("the dynamic section must lie in the file");
    if (!dynamic_.ends) return Damaged("the dynamic section must end with DT_NULL");
    if (dynamic_.has_rest) return Damaged("the dynamic section must be empty behind DT_NULL");
    constexpr std::pair<int64_t, const char*> kNeeded[] = {
        {DT_STRTAB, "DT_STRTAB"}, {DT_STRSZ, "DT_STRSZ"}, {DT_SYMTAB, "DT_SYMTAB"}};
    for (const auto& [tag, name] : kNeeded) {
      if (!dynamic_.Has(tag)) return Damaged(std::string("the dynamic section must have ") + name);
    }
    return true;
  }

  // Names of libraries and folders.
  bool TextsFit() {
    size_t begin = dynamic_[DT_STRTAB], size = dynamic_[DT_STRSZ], place = 0;
    if (size == 0 || !IsReadable(begin, size) || !elf_.FindInFile(begin, &place)) {
      return Needs("DT_STRTAB", "the address of " + std::to_string(size) + " bytes in the file",
                   begin);
    }
    char first = 1, last = 1;
    if (!file_.Read(place, &first) || !file_.Read(place + size - 1, &last) || first != 0 ||
        last != 0) {
      return Damaged("the string table, at " + Hex(begin) + ", must begin and end with NUL");
    }
    if (dynamic_.LastText() < size) return true;
    return Needs("a name in the dynamic section",
                 "in the string table of " + std::to_string(size) + " bytes", dynamic_.LastText());
  }

  bool IsReadable(size_t address, size_t size) const {
    const ElfW(Phdr)* segment = address == 0 ? nullptr : elf_.SegmentAt(address, size);
    return segment != nullptr && (segment->p_flags & PF_R) != 0;
  }

  bool TablesFit() {
    constexpr size_t kWord = sizeof(void*);
    constexpr Table kTables[] = {
        {"DT_RELA", DT_RELA, DT_RELASZ, DT_RELAENT, sizeof(ElfW(Rela)), kWord, false},
        {"DT_REL", DT_REL, DT_RELSZ, DT_RELENT, sizeof(ElfW(Rel)), kWord, false},
        {"DT_RELR", kRelr, kRelrSize, kRelrEntry, kWord, kWord, false},
        {"DT_JMPREL", DT_JMPREL, DT_PLTRELSZ, DT_NULL, kPltEntry, kWord, false},
        {"DT_INIT_ARRAY", DT_INIT_ARRAY, DT_INIT_ARRAYSZ, DT_NULL, kWord, kWord, true},
        {"DT_FINI_ARRAY", DT_FINI_ARRAY, DT_FINI_ARRAYSZ, DT_NULL, kWord, kWord, true},
    };
    for (const Table& table : kTables) {
      if (!TableFits(table)) return false;
    }
    if (dynamic_.Has(DT_JMPREL) && dynamic_[DT_PLTRELSZ] == 0) {
      return Damaged("the size of DT_JMPREL must not be 0");
    }
    if (dynamic_.Has(DT_JMPREL) && dynamic_[DT_PLTREL] != kPltKind) {
      return Needs("DT_PLTREL", std::to_string(kPltKind), dynamic_[DT_PLTREL]);
    }
    return true;
  }

  bool TableFits(const Table& table) {
    bool has_all = dynamic_.Has(table.address) && dynamic_.Has(table.size) &&
                   (table.entry == DT_NULL || dynamic_.Has(table.entry));
    bool has_any = dynamic_.Has(table.address) || dynamic_.Has(table.size) ||
                   (table.entry != DT_NULL && dynamic_.Has(table.entry));
    if (!has_any) return true;
    std::string name = table.name;
    if (!has_all) {
      return Damaged("the dynamic section must tell the address and the size of " + name);
    }
    size_t address = dynamic_[table.address], size = dynamic_[table.size];
    if (table.entry != DT_NULL && dynamic_[table.entry] != table.entry_size) {
      return Needs("the size of an entry of " + name, std::to_string(table.entry_size),
                   dynamic_[table.entry]);
    }
    if (size % table.entry_size != 0) {
      return Needs("the size of " + name, "a multiple of " + std::to_string(table.entry_size),
                   size);
    }
    bool fits = address % table.alignment == 0 && IsReadable(address, size) &&
                (!table.is_written || IsWritable(address, size));
    if (size == 0 || fits) return true;
    return Needs(name,
                 "the address of " + std::to_string(size) + " bytes in " +
                     (table.is_written ? "a writable segment" : "the file"),
                 address);
  }

  bool IsWritable(size_t address, size_t size) const {
    const ElfW(Phdr)* segment = elf_.SegmentAt(address, size, false);
    return segment != nullptr && (segment->p_flags & PF_W) != 0;
  }

  // What the loader calls, and where lazily bound functions are entered.
  bool CodeFits() {
    for (int64_t tag : {DT_INIT, DT_FINI}) {
      size_t address = dynamic_[tag], place = 0;
      if (!dynamic_.Has(tag)) continue;
      const ElfW(Phdr)* segment = elf_.SegmentAt(address, 1);
      bool is_code = segment != nullptr && (segment->p_flags & PF_X) != 0 &&
                     elf_.FindInFile(address, &place) && place >= sizeof(header_);
      if (!is_code) {
        return Needs(tag == DT_INIT ? "DT_INIT" : "DT_FINI", "the address of code", address);
      }
    }
    constexpr size_t kReserved = 3 * sizeof(void*);
    size_t table = dynamic_[DT_PLTGOT];
    if (!dynamic_.Has(DT_JMPREL) || (table % sizeof(void*) == 0 && IsWritable(table, kReserved))) {
      return true;
    }
    return Needs("DT_PLTGOT", "an address in a writable segment", table);
  }

  // --- What the sections say that the dynamic section names ---

  bool SymbolsFit() {
    if (dynamic_.Has(DT_SYMENT) && dynamic_[DT_SYMENT] != sizeof(ElfW(Sym))) {
      return Needs("DT_SYMENT", std::to_string(sizeof(ElfW(Sym))), dynamic_[DT_SYMENT]);
    }
    size_t address = dynamic_[DT_SYMTAB], names = dynamic_[DT_STRTAB];
    size_t count = std::max<size_t>(elf_.CountOfUndefined(), 1), size = 0;
    bool fits = !__builtin_mul_overflow(count, sizeof(ElfW(Sym)), &size) &&
                address % sizeof(void*) == 0 && IsReadable(address, size) &&
                (names < address || names - address >= size);
    if (fits) return true;
    return Needs("DT_SYMTAB", "the address of " + std::to_string(count) + " symbols or more",
                 address);
  }

  bool HashTableFits() {
    if (dynamic_.Has(DT_HASH)) {
      uint32_t counts[2] = {};  // of buckets, of symbols
      size_t address = dynamic_[DT_HASH];
      if (!ReadAt(address, sizeof(uint32_t), &counts) ||
          !IsReadable(address,
                      sizeof(counts) + sizeof(uint32_t) * (size_t{counts[0]} + counts[1]))) {
        return Needs("DT_HASH", "the address of a table in the file", address);
      }
    }
    if (!dynamic_.Has(DT_GNU_HASH)) return true;
    // Number of buckets, first symbol in the table, number of words in the filter, shift.
    uint32_t counts[4] = {};
    size_t address = dynamic_[DT_GNU_HASH];
    bool fits = ReadAt(address, sizeof(void*), &counts);
    size_t words = counts[2];
    fits = fits && words > 0 && (words & (words - 1)) == 0 &&
           IsReadable(address, sizeof(counts) + sizeof(void*) * words +
                                   sizeof(uint32_t) * size_t{counts[0]});
    return fits || Needs("DT_GNU_HASH", "the address of a table in the file", address);
  }

  template <typename T>
  bool ReadAt(size_t address, size_t alignment, T* out) const {
    size_t place = 0;
    return address % alignment == 0 && IsReadable(address, sizeof(T)) &&
           elf_.FindInFile(address, &place) && file_.Read(place, out);
  }

  bool VersionsFit() {
    bool has_needed = dynamic_.Has(DT_VERNEED), has_defined = dynamic_.Has(DT_VERDEF);
    if ((has_needed || has_defined) && !dynamic_.Has(DT_VERSYM)) {
      return Damaged("the dynamic section must tell the versions of symbols beside their names");
    }
    if (dynamic_.Has(DT_VERSYM)) {
      size_t address = dynamic_[DT_VERSYM], count = elf_.CountOfUndefined();
      bool fits =
          address % sizeof(ElfW(Half)) == 0 && IsReadable(address, count * sizeof(ElfW(Half)));
      if (!fits || (!has_needed && !has_defined)) {
        return Needs("DT_VERSYM", "the address of the versions of symbols, beside their names",
                     address);
      }
    }
    if (has_needed && !RecordsFit<ElfW(Verneed)>(DT_VERNEED)) {
      return Needs("DT_VERNEED", "the address of records of versions", dynamic_[DT_VERNEED]);
    }
    if (has_defined && !RecordsFit<ElfW(Verdef)>(DT_VERDEF)) {
      return Needs("DT_VERDEF", "the address of records of versions", dynamic_[DT_VERDEF]);
    }
    return true;
  }

  static uint16_t VersionOf(const ElfW(Verneed) & record) { return record.vn_version; }
  static uint16_t VersionOf(const ElfW(Verdef) & record) { return record.vd_version; }
  static size_t NextOf(const ElfW(Verneed) & record) { return record.vn_next; }
  static size_t NextOf(const ElfW(Verdef) & record) { return record.vd_next; }
  bool HasPart(const ElfW(Verneed) & record, size_t address) const {
    ElfW(Vernaux) part;
    return record.vn_cnt > 0 && record.vn_file < dynamic_[DT_STRSZ] &&
           ReadAt(address + record.vn_aux, sizeof(uint32_t), &part) &&
           part.vna_name < dynamic_[DT_STRSZ];
  }
  bool HasPart(const ElfW(Verdef) & record, size_t address) const {
    ElfW(Verdaux) part;
    return record.vd_cnt > 0 && ReadAt(address + record.vd_aux, sizeof(uint32_t), &part) &&
           part.vda_name < dynamic_[DT_STRSZ];
  }

  template <typename Record>
  bool RecordsFit(int64_t tag) const {
    size_t address = dynamic_[tag];
    for (size_t i = 0; i < kMaxLookedAt; ++i) {
      Record record;
      if (!ReadAt(address, sizeof(uint32_t), &record)) return false;
      if (VersionOf(record) != 1 || !HasPart(record, address)) return false;
      if (NextOf(record) == 0) return true;
      address += NextOf(record);  // onwards, so that this ends
    }
    return true;
  }

#ifdef __LP64__
  static constexpr size_t kPltKind = DT_RELA, kPltEntry = sizeof(ElfW(Rela));
#else
  static constexpr size_t kPltKind = DT_REL, kPltEntry = sizeof(ElfW(Rel));
#endif

  // The loader applies the first ones, as many as DT_RELACOUNT says, without a look at their kind.
  bool RelocationsFit() {
    size_t place = 0, count = dynamic_[DT_RELASZ] / sizeof(ElfW(Rela));
    size_t relative = dynamic_[DT_RELACOUNT];
    if (relative > count) {
      return Needs("DT_RELACOUNT", "at most " + std::to_string(count), relative);
    }
    if (!elf_.FindInFile(dynamic_[DT_RELA], &place)) return true;
    for (size_t i = 0; i < std::min(count, kMaxLookedAt); ++i) {
      if (!RelocationFits(place, i, i < relative)) return false;
    }
    return relative <= kMaxLookedAt || RelocationFits(place, relative - 1, true);
  }

  bool RelocationFits(size_t table, size_t index, bool is_relative) {
    ElfW(Rela) entry;
    bool is_read = file_.Read(table + index * sizeof(entry), &entry);
    bool fits = is_read && (entry.r_info == 0 ||
                            elf_.SegmentAt(entry.r_offset, sizeof(uint32_t), false) != nullptr);
#ifdef __x86_64__
    fits = fits && (!is_relative || ELF64_R_TYPE(entry.r_info) == R_X86_64_RELATIVE);
#else
    static_cast<void>(is_relative);
#endif
    return fits || Damaged("relocation " + std::to_string(index) + " must be " +
                           (is_relative ? "relative" : "about an address in a segment"));
  }

  const ElfFile& elf_;
  FileReader& file_;
  const ElfW(Ehdr) & header_;
  const DynamicSection& dynamic_;
  std::string defect_;
};

}  // namespace

std::string DefectOf(const ElfFile& elf) { return Examination(elf).Defect(); }

std::string DamagedFile(const std::string& what) {
  return "the file is damaged: " + what + "; copy or build it again";
}

}  // namespace tvm::ffi::extra
