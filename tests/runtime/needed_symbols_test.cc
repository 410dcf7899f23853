// SPDX-License-Identifier: Apache-2.0
// The load-time check of library files: missing symbols, damaged files, arbitrary bytes.
#include <dirent.h>
#include <doctest/doctest.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>

#include "../../runtime/extra/module/library/abi_symbols.h"
#include "../../runtime/platform/platform.h"

using tvm::ffi::extra::IsAbiSymbol;
using tvm::ffi::platform::CheckLibraryFile;
using tvm::ffi::platform::LibraryCheck;

namespace {

const char* const kLibrary = LIBRARY_FOLDER "/needing_later.so";

std::string ContentOf(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

LibraryCheck ReadContent(const std::string& content) {
  static const std::string path = LIBRARY_FOLDER "/needed_symbols_test.bin";
  std::ofstream(path, std::ios::binary) << content;
  LibraryCheck result = CheckLibraryFile(path);
  unlink(path.c_str());
  return result;
}

template <typename T>
T ReadAt(const std::string& content, size_t offset) {
  T value;
  REQUIRE(offset + sizeof(T) <= content.size());
  std::memcpy(&value, content.data() + offset, sizeof(T));
  return value;
}

template <typename T>
void WriteAt(std::string* content, size_t offset, T value) {
  REQUIRE(offset + sizeof(T) <= content->size());
  std::memcpy(content->data() + offset, &value, sizeof(T));
}

// Returns the file offset of the n-th program header of a type.
size_t OffsetOfProgramHeader(const std::string& content, uint32_t type, int n = 0) {
  auto header = ReadAt<ElfW(Ehdr)>(content, 0);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    size_t offset = header.e_phoff + i * sizeof(ElfW(Phdr));
    if (ReadAt<ElfW(Phdr)>(content, offset).p_type == type && n-- == 0) return offset;
  }
  FAIL("no program header of type " << type);
  return 0;
}

size_t OffsetOfDynamicEntry(const std::string& content, int64_t tag) {
  auto segment = ReadAt<ElfW(Phdr)>(content, OffsetOfProgramHeader(content, PT_DYNAMIC));
  for (size_t offset = segment.p_offset; offset < segment.p_offset + segment.p_filesz;
       offset += 16) {
    if (ReadAt<ElfW(Dyn)>(content, offset).d_tag == tag) return offset;
  }
  FAIL("no dynamic entry of tag " << tag);
  return 0;
}

size_t OffsetOfTable(const std::string& content, int64_t tag) {
  auto address = ReadAt<uint64_t>(content, OffsetOfDynamicEntry(content, tag) + 8);
  for (int n = 0;; ++n) {
    auto segment = ReadAt<ElfW(Phdr)>(content, OffsetOfProgramHeader(content, PT_LOAD, n));
    if (address >= segment.p_vaddr && address < segment.p_vaddr + segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
}

bool IsMissing(const LibraryCheck& file, const std::string& symbol) {
  for (const std::string& name : file.missing_symbols) {
    if (name == symbol) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("ABI symbols are recognized by name") {
  for (const char* name :
       {"TVMFFIGetVersion", "_ZN3tvm3ffi9ReprPrintERKNS0_3AnyE", "_ZNK3tvm3ffi5Error4whatEv",
        "_ZTVN3tvm3ffi9ModuleObjE", "_ZTIN3tvm3ffi9ModuleObjE", "_ZTSN3tvm3ffi5ErrorE",
        "_ZGVZN3tvm3ffi9ModuleObj27_GetOrAllocRuntimeTypeIndexEvE6tindex"}) {
    CHECK(IsAbiSymbol(name));
  }
  for (const char* name :
       {"", "_Z", "TVMBackendAllocWorkspace", "memcpy", "_ZN3tvm7runtime3FooE",
        "_ZN3foo3barEN3tvm3ffi3AnyE", "_ZSt4moveIRN3tvm3ffi3AnyEEvT_", "xTVMFFIGetVersion"}) {
    CHECK(!IsAbiSymbol(name));
  }
}

TEST_CASE("missing symbols of a library are listed") {
  LibraryCheck file = CheckLibraryFile(kLibrary);
  CHECK_EQ(file.defect, "");
  CHECK(IsMissing(file, "TVMFFIOfALaterRelease"));
  CHECK(IsMissing(file, "TVMFFIOfALaterRelease2"));
  CHECK(!IsMissing(CheckLibraryFile(LIBRARY_FOLDER "/needing_weak.so"), "TVMFFIMaybeThere"));
  CHECK(IsMissing(CheckLibraryFile(LIBRARY_FOLDER "/needing_foreign.so"), "no_such_function"));
}

TEST_CASE("files that are not ELF files are left to the loader") {
  for (const char* path : {"/nonexistent/library.so", "/dev/null", "/tmp", "/proc/self/mem"}) {
    LibraryCheck file = CheckLibraryFile(path);
    CHECK_EQ(file.missing_symbols.size(), 0u);
    CHECK_EQ(file.defect, "");
  }
}

TEST_CASE("damage is named") {
  using Change = std::function<void(std::string*)>;
  auto header = [](size_t offset, auto value) -> Change {
    return [=](std::string* content) { WriteAt(content, offset, value); };
  };
  auto segment = [](uint32_t type, int n, size_t field, uint64_t value) -> Change {
    return [=](std::string* content) {
      WriteAt(content, OffsetOfProgramHeader(*content, type, n) + field, value);
    };
  };
  auto entry = [](int64_t tag, uint64_t value) -> Change {
    return [=](std::string* content) {
      WriteAt(content, OffsetOfDynamicEntry(*content, tag) + 8, value);
    };
  };
  auto tag = [](int64_t from, int64_t to) -> Change {
    return
        [=](std::string* content) { WriteAt(content, OffsetOfDynamicEntry(*content, from), to); };
  };
  const size_t kOffset = offsetof(ElfW(Phdr), p_offset), kAddress = offsetof(ElfW(Phdr), p_vaddr),
               kFileSize = offsetof(ElfW(Phdr), p_filesz);
  const uint64_t kFar = uint64_t{1} << 40;
  std::string whole = ContentOf(kLibrary);
  uint16_t machine;
  std::memcpy(&machine, whole.data() + offsetof(ElfW(Ehdr), e_machine), sizeof(machine));
  const std::string other_machine =
      "for another machine: expected ELF machine " + std::to_string(machine) + ", got 1";
  const std::pair<Change, std::string> kDamage[] = {
      {header(EI_CLASS, char{1}), "for another machine: expected ELF class 2, got 1"},
      {header(EI_DATA, char{2}), "for another machine: expected ELF byte order 1, got 2"},
      {header(18, uint16_t{1}), other_machine},
      {header(16, uint16_t{1}), "not a shared library: expected ELF type 3, got 1"},
      {header(54, uint16_t{32}), "expected program headers of 56 bytes, got 32"},
      {header(32, kFar), "the file is incomplete: expected at least "},
      {segment(PT_LOAD, 1, kOffset, kFar), "the file is incomplete: expected at least "},
      {segment(PT_LOAD, 1, kFileSize, kFar), "the file is incomplete: expected at least "},
      {segment(PT_DYNAMIC, 0, kAddress, kFar), "the dynamic section is outside the segments"},
      {segment(PT_DYNAMIC, 0, kFileSize, 16), "the dynamic section has no DT_NULL entry"},
      {tag(DT_STRTAB, 0x10000), "DT_STRTAB is missing or outside the segments"},
      {entry(DT_STRTAB, kFar), "DT_STRTAB is missing or outside the segments"},
      {entry(DT_SYMTAB, kFar), "DT_SYMTAB is missing or outside the segments"},
  };
  for (const auto& [change, sentence] : kDamage) {
    std::string content = whole;
    change(&content);
    std::string defect = ReadContent(content).defect;
    INFO(sentence);
    INFO(defect);
    CHECK(defect.find("the file is ") == 0);
    CHECK(defect.find(sentence) != std::string::npos);
  }
}

TEST_CASE("a string table of zeros is reported as damage") {
  std::string content = ContentOf(kLibrary);
  auto size = ReadAt<uint64_t>(content, OffsetOfDynamicEntry(content, DT_STRSZ) + 8);
  std::memset(content.data() + OffsetOfTable(content, DT_STRTAB), 0, size);
  CHECK(ReadContent(content).defect.find("has no name") != std::string::npos);
}

TEST_CASE("zeros in the last section header are reported as damage") {
  std::string content = ContentOf(kLibrary);
  std::memset(content.data() + content.size() - 64, 0, 64);
  CHECK(ReadContent(content).defect.find("as after an interrupted download") != std::string::npos);
}

TEST_CASE("a file without its last byte is incomplete") {
  std::string content = ContentOf(kLibrary), size = std::to_string(content.size());
  CHECK_EQ(ReadContent(content.substr(0, content.size() - 1)).defect,
           "the file is incomplete: expected at least " + size + " bytes, got " +
               std::to_string(content.size() - 1));
}

TEST_CASE("libraries of the system and of this build are accepted") {
  int num_libraries = 0;
  for (const std::string folder : {SYSTEM_LIBRARY_FOLDER, LIBRARY_FOLDER}) {
    DIR* entries = opendir(folder.c_str());
    if (entries == nullptr) continue;
    while (dirent* entry = readdir(entries)) {
      std::string path = folder + "/" + entry->d_name;
      // Other tests write damaged library files into this folder.
      bool is_damaged =
          path.find("incomplete") != std::string::npos || path.find("damaged") != std::string::npos;
      if (path.find(".so") == std::string::npos || is_damaged) continue;
      ++num_libraries;
      INFO(path);
      CHECK_EQ(CheckLibraryFile(path).defect, "");
    }
    closedir(entries);
  }
  CHECK(num_libraries > 8);
}

TEST_CASE("truncated files are read safely") {
  std::string content = ContentOf(kLibrary);
  CHECK(content.size() > 4096);
  for (size_t size = 0; size < content.size(); size += size < 1200 ? 1 : 61) {
    LibraryCheck file = ReadContent(content.substr(0, size));
    CHECK(file.missing_symbols.size() <= 16);
  }
}

TEST_CASE("words replaced by huge numbers are read safely") {
  std::string content = ContentOf(kLibrary);
  for (size_t offset = 16; offset + 8 <= content.size(); offset += 8) {
    // In the file, the headers and tables precede the code.
    if (offset > 4096) break;
    for (uint64_t value : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63, uint64_t{0x7fffffff}}) {
      std::string changed = content;
      std::memcpy(changed.data() + offset, &value, sizeof(value));
      CHECK(ReadContent(changed).missing_symbols.size() <= 16);
    }
  }
}

TEST_CASE("random bytes after the ELF identification are read safely") {
  std::string content = ContentOf(kLibrary);
  std::mt19937 random(20);
  for (int round = 0; round < 500; ++round) {
    std::string changed = content;
    for (int i = 0; i < 40; ++i) {
      changed[20 + random() % (std::min<size_t>(changed.size(), 4096) - 20)] =
          static_cast<char>(random());
    }
    CHECK(ReadContent(changed).missing_symbols.size() <= 16);
  }
}
