// SPDX-License-Identifier: Apache-2.0
// ELF reader: file header, program headers and dynamic section of a shared library.
//
// Section headers are not needed, because tools may strip them.  Whatever the file contains, the
// reader never reads outside the file, and every loop ends at the end of the file.
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

inline constexpr int kNativeElfClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
inline constexpr int kNativeByteOrder =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

// Bounds-checked reads of a file through a small page cache.  The file is not mapped, because
// mapping alone would take longer than the whole load-time check.
class FileReader {
 public:
  explicit FileReader(const std::string& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // The size of the file in bytes; 0 for a path that is not a regular file.
  size_t size() const { return size_; }
  // The errno of the first failed read; 0 if no read failed.
  int error() const { return error_; }

  // Reads the value at the offset.  Returns false and leaves *out untouched if the file ends within
  // the value.
  template <typename T>
  bool Read(size_t offset, T* out) {
    static_assert(sizeof(T) <= kMaxRead);
    // If the offset is before the page, the difference wraps to a huge value.
    size_t begin = offset - current_->begin;
    if (begin < current_->size && sizeof(T) <= current_->size - begin) {
      std::memcpy(out, current_->bytes + begin, sizeof(T));
      return true;
    }
    return ReadFromPages(offset, out, sizeof(T));
  }

  // Same as Read, but does not load a page into the cache.  Use it for an offset that is far from
  // the offsets of all other reads.
  template <typename T>
  bool ReadUncached(size_t offset, T* out) {
    if (HasPage(offset / Page::kSize * Page::kSize)) return Read(offset, out);
    return Copy(offset, out, sizeof(T)) == sizeof(T);
  }

  // Returns the NUL-terminated string at the offset; "" if the string is longer than any symbol
  // name of the ABI.
  std::string ReadString(size_t offset);

 private:
  // A cached page of the file.  The check of a library needs few pages: the pages of the program
  // headers, the dynamic section, the first symbols and their names.  Larger pages would save some
  // reads, but copying the pages would take longer than the saved reads.
  struct Page {
    static constexpr size_t kSize = 4096;
    size_t begin = 0, size = 0, last_use = 0;
    char bytes[kSize];
  };

  // Returns the bytes from the offset to the end of its page, borrowed until the next call; an
  // empty view if the bytes cannot be read.
  std::string_view RestOfPage(size_t offset);
  static constexpr size_t kMaxRead = 64;
  bool ReadFromPages(size_t offset, void* out, size_t size);
  void SwitchTo(size_t begin);
  bool HasPage(size_t begin) const;
  // Copies bytes of the file to `out` and returns the number of bytes copied.  The number is less
  // than `size` at the end of the file and after a failed read.
  size_t Copy(size_t offset, void* out, size_t size);

  static constexpr size_t kNumPages = 8;
  int file_;
  int error_ = 0;
  size_t size_ = 0;
  size_t num_switches_ = 0;
  std::unique_ptr<Page[]> pages_{new Page[kNumPages]};
  // The page of the previous read, because the next read is usually in the same page.
  Page* current_ = pages_.get();
};

// The entries of a dynamic section that locate the symbols.  The field of an absent entry is 0.
struct DynamicSection {
  bool is_present = false;     // true if the file has a PT_DYNAMIC program header
  bool is_in_file = false;     // true if the section is inside the file's part of a segment
  bool is_terminated = false;  // true if the section ends with DT_NULL

  size_t symbol_table = 0;       // virtual address of the symbol table, from DT_SYMTAB
  size_t string_table = 0;       // virtual address of the string table, from DT_STRTAB
  size_t string_table_size = 0;  // size of the string table in bytes, from DT_STRSZ
  size_t gnu_hash_table = 0;     // virtual address of the GNU hash table, from DT_GNU_HASH
  size_t hash_table = 0;         // virtual address of the SysV hash table, from DT_HASH
};

class ElfFile {
 public:
  explicit ElfFile(FileReader& file);

  FileReader& file() const { return file_; }
  // True if the file begins with a complete ELF header.
  bool is_elf() const { return is_elf_; }
  const ElfW(Ehdr) & header() const { return header_; }
  // The program headers of the file.  Contains fewer than the ELF header declares if the file ends
  // within the program headers.  Empty if the file has another ELF class or byte order than this
  // machine.
  const std::vector<ElfW(Phdr)>& segments() const { return segments_; }
  const DynamicSection& dynamic() const { return dynamic_; }

  // Converts a virtual address to the offset in the file of the byte that the loader maps there.
  // Returns false if the address is outside the file's part of all segments.
  bool FindInFile(size_t address, size_t* offset) const;

  // Returns the number of symbols before the first symbol that the library defines.  If the library
  // has no GNU hash table, returns the number of all symbols.
  size_t NumUndefinedSymbols() const;

 private:
  bool IsNativeFormat() const;
  void ReadSegments();
  void ReadDynamicSection();
  void AddDynamicEntry(const ElfW(Dyn) & entry);
  const ElfW(Phdr) * FindSegment(size_t address, size_t size) const;

  FileReader& file_;
  ElfW(Ehdr) header_ {};
  bool is_elf_ = false;
  std::vector<ElfW(Phdr)> segments_;
  DynamicSection dynamic_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_LIBRARY_ELF_FILE_H_
