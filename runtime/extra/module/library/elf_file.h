// SPDX-License-Identifier: Apache-2.0
// The file of a shared library as the loader finds its way in it: header, program headers, dynamic
// section.  Section headers, which tools may strip, are not needed.  Nothing outside of the file is
// read, whatever it contains, and loops end with it.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_ELF_FILE_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_ELF_FILE_H_

#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tvm::ffi::extra {

// A file, read in pieces with checks.  To map it would cost more than all else that is done here.
class FileReader {
 public:
  explicit FileReader(const std::string& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  size_t size() const { return size_; }
  // Why the system refused to read, as errno has it; 0 when it did not.
  int error() const { return error_; }

  // False when the file ends before; *out is untouched then.
  template <typename T>
  bool Read(size_t offset, T* out) {
    static_assert(sizeof(T) <= kMaxRead);
    size_t begin = offset - current_->begin;  // huge when the piece begins behind it
    if (begin < current_->size && sizeof(T) <= current_->size - begin) {
      std::memcpy(out, current_->bytes + begin, sizeof(T));
      return true;
    }
    return ReadPieces(offset, out, sizeof(T));
  }

  // The same for a place beside which nothing else will be read: then nothing else is copied.
  template <typename T>
  bool ReadAlone(size_t offset, T* out) {
    if (HasPiece(offset / Piece::kSize * Piece::kSize)) return Read(offset, out);
    return Copy(offset, out, sizeof(T)) == sizeof(T);
  }

  // The NUL-terminated text at the offset; empty when it does not end in time.
  std::string Text(size_t offset);

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
  std::string_view From(size_t offset);
  static constexpr size_t kMaxRead = 64;
  bool ReadPieces(size_t offset, void* out, size_t size);
  void SwitchTo(size_t begin);
  bool HasPiece(size_t begin) const;
  // How many bytes were copied: all, unless the file ends before or the system refuses.
  size_t Copy(size_t offset, void* out, size_t size);

  static constexpr size_t kNumPieces = 8;
  int file_;
  int error_ = 0;
  size_t size_ = 0;
  size_t num_switches_ = 0;
  std::unique_ptr<Piece[]> pieces_{new Piece[kNumPieces]};
  Piece* current_ = pieces_.get();  // most reads are where the one before was
};

// The entries of a dynamic section, by tag; of several with one tag the last counts, as it does for
// the loader.
class DynamicSection {
 public:
  void Add(const ElfW(Dyn) & entry);

  bool Has(int64_t tag) const { return (present_ >> Slot(tag) & 1) != 0; }
  // 0 when there is none.
  size_t operator[](int64_t tag) const { return values_[Slot(tag)]; }
  // The largest of the places in the string table that entries name.
  size_t LastText() const { return last_text_; }

  bool ends = false;        // an entry DT_NULL was found
  bool has_rest = false;    // entries were found behind it
  bool is_outside = false;  // it lies in no segment's part of the file

 private:
  // Tags below DT_NUM, then the sixteen around the versions of symbols, then all others.
  static constexpr int64_t kFirstVersionTag = DT_VERSYM;
  static constexpr size_t kGnuHashSlot = 54, kOtherSlot = 55;
  static size_t Slot(int64_t tag) {
    constexpr int64_t kNumSmall = 38;
    if (tag >= 0 && tag < kNumSmall) return static_cast<size_t>(tag);
    if (tag >= kFirstVersionTag && tag < kFirstVersionTag + 16) {
      return static_cast<size_t>(kNumSmall + tag - kFirstVersionTag);
    }
    return tag == DT_GNU_HASH ? kGnuHashSlot : kOtherSlot;
  }

  uint64_t present_ = 0;
  size_t values_[kOtherSlot + 1] = {};
  size_t last_text_ = 0;
};

class ElfFile {
 public:
  explicit ElfFile(FileReader& file) : file_(file) {
    if (!file_.Read(0, &header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return;
    is_elf_ = true;
    if (!IsOfThisProcess()) return;
    ReadSegments();
    ReadDynamic();
  }

  FileReader& file() const { return file_; }
  bool IsElf() const { return is_elf_; }
  // Class, byte order and size of a program header are those of this process; nothing else is read
  // where they are not.
  bool IsOfThisProcess() const;
  const ElfW(Ehdr) & header() const { return header_; }
  // All, in their order; fewer than the header says when the file ends before.
  const std::vector<ElfW(Phdr)>& segments() const { return segments_; }
  const DynamicSection& dynamic() const { return dynamic_; }

  // The segment loaded into memory that has all of these addresses, or nullptr; those that come
  // from the file, or all.
  const ElfW(Phdr) * SegmentAt(size_t address, size_t size, bool is_in_file = true) const;

  // Turns an address into the place in the file that is mapped there.
  bool FindInFile(size_t address, size_t* offset) const;

  // How many symbols there are in front of those that the library defines, or in all.
  size_t CountOfUndefined() const;

 private:
  void ReadSegments();
  void ReadDynamic();

  FileReader& file_;
  ElfW(Ehdr) header_ {};
  bool is_elf_ = false;
  std::vector<ElfW(Phdr)> segments_;
  DynamicSection dynamic_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_ELF_FILE_H_
