// SPDX-License-Identifier: Apache-2.0
// The tables are found as the loader finds them: program headers, dynamic section, symbol table.
// Section headers, which tools may strip, are not looked at.
#include "module/library/needed_symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace tvm::ffi::extra {
namespace {

// Far more than any library asks for; what is beyond is not looked at.
constexpr size_t kMaxAbiSymbols = 10000;
constexpr size_t kMaxUnserved = 16;
constexpr size_t kMaxText = 4096;  // no name of the ABI comes near

// A file, read in pieces with checks.  To map it would cost more than all else that is done here.
class LibraryReader {
 public:
  explicit LibraryReader(const std::string& path)
      // Not blocking: the path may name a pipe.
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status;
    bool is_file = file_ >= 0 && fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
    if (is_file) size_ = static_cast<size_t>(status.st_size);
  }
  ~LibraryReader() {
    if (file_ >= 0) close(file_);
  }
  LibraryReader(const LibraryReader&) = delete;
  LibraryReader& operator=(const LibraryReader&) = delete;

  size_t size() const { return size_; }

  // False when the file ends before; *out is untouched then.
  template <typename T>
  bool Read(size_t offset, T* out) {
    char bytes[sizeof(T)];
    if (offset > size_ || sizeof(T) > size_ - offset) return false;
    for (size_t i = 0; i < sizeof(T);) {
      std::string_view piece = From(offset + i).substr(0, sizeof(T) - i);
      if (piece.empty()) return false;
      std::memcpy(bytes + i, piece.data(), piece.size());
      i += piece.size();
    }
    std::memcpy(out, bytes, sizeof(T));
    return true;
  }

  // The NUL-terminated text at the offset; empty when it does not end in time.
  std::string Text(size_t offset) {
    std::string text;
    while (offset < size_ && text.size() < kMaxText) {
      std::string_view piece = From(offset);
      size_t end = piece.find('\0');
      text += piece.substr(0, end);
      if (end != std::string_view::npos) return text;
      if (piece.empty()) break;
      offset += piece.size();
    }
    return "";
  }

 private:
  // Few pieces are needed: those with the program headers, the dynamic section, the first symbols
  // and their names.  Larger pieces cost more to copy than they save.
  struct Piece {
    static constexpr size_t kSize = 4096;
    size_t begin = 0, size = 0, last_use = 0;
    char bytes[kSize];
  };

  // The bytes from the offset to the end of its piece, until the next call; none when they cannot
  // be read.
  std::string_view From(size_t offset) {
    size_t begin = offset / Piece::kSize * Piece::kSize;
    if (current_->size == 0 || current_->begin != begin) SwitchTo(begin);
    if (offset - begin >= current_->size) return {};
    return {current_->bytes + (offset - begin), current_->size - (offset - begin)};
  }

  void SwitchTo(size_t begin) {
    auto is_it = [&](const Piece& piece) { return piece.size > 0 && piece.begin == begin; };
    auto is_older = [](const Piece& a, const Piece& b) { return a.last_use < b.last_use; };
    Piece* end = pieces_.get() + kNumPieces;
    current_->last_use = ++num_switches_;
    current_ = std::find_if(pieces_.get(), end, is_it);
    if (current_ != end) return;
    current_ = std::min_element(pieces_.get(), end, is_older);
    ssize_t size = pread(file_, current_->bytes, Piece::kSize, static_cast<off_t>(begin));
    current_->begin = begin;
    current_->size = size > 0 ? static_cast<size_t>(size) : 0;
  }

  static constexpr size_t kNumPieces = 8;
  int file_;
  size_t size_ = 0;
  size_t num_switches_ = 0;
  std::unique_ptr<Piece[]> pieces_{new Piece[kNumPieces]};
  Piece* current_ = pieces_.get();  // most reads are where the one before was
};

class Elf {
 public:
  explicit Elf(LibraryReader& file) : file_(file) {
    is_readable_ = file_.Read(0, &header_) && IsOfThisMachine();
    if (is_readable_) ReadSegments();
  }

  bool IsReadable() const { return is_readable_; }

  // Where the last segment ends in the file.
  size_t EndOfSegments() const {
    size_t end = 0;
    for (const ElfW(Phdr) & segment : loaded_) {
      size_t segment_end = 0;
      if (__builtin_add_overflow(segment.p_offset, segment.p_filesz, &segment_end)) {
        segment_end = SIZE_MAX;
      }
      end = std::max(end, segment_end);
    }
    return end;
  }

  // Calls visit(name) for each symbol that has to come from another library, until it returns
  // false.
  template <typename Visit>
  void ForEachUndefined(Visit visit) const {
    Tables tables = FindTables();
    size_t symbols = 0, names = 0;
    if (!FindInFile(tables.symbols, &symbols) || !FindInFile(tables.names, &names)) return;
    size_t count = CountOfUndefined(tables);
    for (size_t i = 1; i < count; ++i) {  // the first is no symbol
      ElfW(Sym) symbol;
      if (!file_.Read(symbols + i * sizeof(symbol), &symbol)) return;
      bool is_needed = symbol.st_shndx == SHN_UNDEF && (symbol.st_info >> 4) == STB_GLOBAL;
      if (is_needed && symbol.st_name < tables.names_size) {
        if (!visit(file_.Text(names + symbol.st_name))) return;
      }
    }
  }

 private:
  static constexpr size_t kUsualSegments = 4;

  // Addresses, 0 when there is none.
  struct Tables {
    size_t symbols = 0;
    size_t names = 0;
    size_t names_size = 0;
    size_t hash = 0;
    size_t gnu_hash = 0;
  };

  bool IsOfThisMachine() const {
    constexpr int kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    constexpr int kOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    return std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
           header_.e_ident[EI_CLASS] == kClass && header_.e_ident[EI_DATA] == kOrder &&
           header_.e_phentsize == sizeof(ElfW(Phdr));
  }

  void ReadSegments() {
    loaded_.reserve(kUsualSegments);
    for (size_t i = 0; i < header_.e_phnum; ++i) {
      ElfW(Phdr) segment;
      size_t place = 0;
      if (__builtin_add_overflow(header_.e_phoff, i * sizeof(segment), &place)) return;
      if (!file_.Read(place, &segment)) return;
      if (segment.p_type == PT_LOAD) loaded_.push_back(segment);
      if (segment.p_type == PT_DYNAMIC && dynamic_.p_type == PT_NULL) dynamic_ = segment;
    }
  }

  // Turns an address into the place in the file that is mapped there.
  bool FindInFile(size_t address, size_t* offset) const {
    if (address == 0) return false;
    for (const ElfW(Phdr) & segment : loaded_) {
      if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz) continue;
      if (__builtin_add_overflow(address - segment.p_vaddr, segment.p_offset, offset)) continue;
      if (*offset < file_.size()) return true;
    }
    return false;
  }

  Tables FindTables() const {
    Tables tables;
    if (dynamic_.p_type == PT_DYNAMIC) ReadDynamic(dynamic_, &tables);
    return tables;
  }

  void ReadDynamic(const ElfW(Phdr) & segment, Tables* tables) const {
    ElfW(Dyn) entry;
    size_t end = 0;
    if (__builtin_add_overflow(segment.p_offset, segment.p_filesz, &end)) return;
    for (size_t place = segment.p_offset; place < end; place += sizeof(entry)) {
      if (!file_.Read(place, &entry) || entry.d_tag == DT_NULL) return;
      auto value = static_cast<size_t>(entry.d_un.d_val);
      if (entry.d_tag == DT_SYMTAB) tables->symbols = value;
      if (entry.d_tag == DT_STRTAB) tables->names = value;
      if (entry.d_tag == DT_STRSZ) tables->names_size = value;
      if (entry.d_tag == DT_HASH) tables->hash = value;
      if (entry.d_tag == DT_GNU_HASH) tables->gnu_hash = value;
    }
  }

  // How many symbols there are in front of those that the library defines, or in all.
  size_t CountOfUndefined(const Tables& tables) const {
    size_t place = 0;
    uint32_t gnu[2] = {};   // number of buckets, index of the first symbol in the table
    uint32_t sysv[2] = {};  // number of buckets, number of symbols
    // A table without symbols does not tell where they would begin; 1 is what linkers write.
    if (FindInFile(tables.gnu_hash, &place) && file_.Read(place, &gnu) && gnu[1] > 1) return gnu[1];
    if (FindInFile(tables.hash, &place) && file_.Read(place, &sysv)) return sysv[1];
    // Linkers put the names behind the symbols.
    if (tables.names > tables.symbols) {
      return (tables.names - tables.symbols) / sizeof(ElfW(Sym));
    }
    return 0;
  }

  LibraryReader& file_;
  ElfW(Ehdr) header_ {};
  bool is_readable_ = false;
  std::vector<ElfW(Phdr)> loaded_;  // into memory, in the order of the file
  ElfW(Phdr) dynamic_ {};           // the first, if there is one
};

// The loader maps whole pages, and touching one behind the end of the file ends the process.
std::string DefectOf(const Elf& elf, const LibraryReader& file) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t readable = (file.size() + page - 1) / page * page;
  if (elf.EndOfSegments() <= readable) return "";
  return "the file is incomplete: it has " + std::to_string(file.size()) + " bytes of at least " +
         std::to_string(elf.EndOfSegments());
}

bool IsServed(std::string_view name) {
  return dlsym(RTLD_DEFAULT, std::string(name).c_str()) != nullptr;
}

}  // namespace

bool IsAbiSymbol(std::string_view name) {
  constexpr std::string_view kC = "TVMFFI", kMangled = "_Z", kNamespace = "3tvm3ffi";
  if (name.substr(0, kC.size()) == kC) return true;
  if (name.substr(0, kMangled.size()) != kMangled) return false;
  // _ZN, _ZNK, _ZTVN, _ZGVZN: what stands there in front of the namespace the symbol belongs to.
  size_t place = name.find_first_not_of("GIKNSTVZ", kMangled.size());
  return place != std::string_view::npos && name[place - 1] != 'T' &&
         name.substr(place, kNamespace.size()) == kNamespace;
}

LibraryFile ReadLibraryFile(const std::string& path) {
  LibraryFile result;
  LibraryReader file(path);
  Elf elf(file);
  if (!elf.IsReadable()) return result;
  result.defect = DefectOf(elf, file);
  size_t looked_at = 0;
  elf.ForEachUndefined([&](std::string_view name) {
    if (!IsAbiSymbol(name)) return true;
    if (!IsServed(name)) result.unserved.emplace_back(name);
    return ++looked_at < kMaxAbiSymbols && result.unserved.size() < kMaxUnserved;
  });
  return result;
}

}  // namespace tvm::ffi::extra
