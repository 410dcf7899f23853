// SPDX-License-Identifier: Apache-2.0
// ELF reader: file header, program headers and dynamic section of a shared library.
//
// Section headers are not needed, because tools may strip them.  Whatever the file contains, the
// reader never reads outside the file, and every loop ends at the end of the file.
#ifndef TVM_FFI_RUNTIME_PLATFORM_ELF_FILE_H_
#define TVM_FFI_RUNTIME_PLATFORM_ELF_FILE_H_

#include <link.h>

#include <cstddef>
#include <vector>

#include "file_reader.h"

namespace tvm::ffi::platform {

inline constexpr int kNativeElfClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
// The processor for which this code is compiled; EM_NONE if it is not one of these.
inline constexpr int kNativeMachine =
#if defined(__x86_64__)
    EM_X86_64;
#elif defined(__aarch64__)
    EM_AARCH64;
#elif defined(__riscv)
    EM_RISCV;
#elif defined(__arm__)
    EM_ARM;
#else
    EM_NONE;
#endif
inline constexpr int kNativeByteOrder =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

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

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_ELF_FILE_H_
