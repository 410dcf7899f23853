// SPDX-License-Identifier: Apache-2.0
// The reader of library files, given files that are no libraries any more.
#include "../../runtime/extra/module/library/needed_symbols.h"

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

using tvm::ffi::extra::IsAbiSymbol;
using tvm::ffi::extra::LibraryFile;
using tvm::ffi::extra::ReadLibraryFile;

namespace {

const char* const kLibrary = LIBRARY_FOLDER "/needing_later.so";

std::string ContentOf(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

LibraryFile ReadContent(const std::string& content) {
  static const std::string path = LIBRARY_FOLDER "/needed_symbols_test.bin";
  std::ofstream(path, std::ios::binary) << content;
  LibraryFile result = ReadLibraryFile(path);
  unlink(path.c_str());
  return result;
}

template <typename T>
T ReadAt(const std::string& content, size_t place) {
  T value;
  REQUIRE(place + sizeof(T) <= content.size());
  std::memcpy(&value, content.data() + place, sizeof(T));
  return value;
}

template <typename T>
void WriteAt(std::string* content, size_t place, T value) {
  REQUIRE(place + sizeof(T) <= content->size());
  std::memcpy(content->data() + place, &value, sizeof(T));
}

// The place of the n-th program header of a type.
size_t PlaceOfPart(const std::string& content, uint32_t type, int n = 0) {
  auto header = ReadAt<ElfW(Ehdr)>(content, 0);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    size_t place = header.e_phoff + i * sizeof(ElfW(Phdr));
    if (ReadAt<ElfW(Phdr)>(content, place).p_type == type && n-- == 0) return place;
  }
  FAIL("no program header of type " << type);
  return 0;
}

size_t PlaceOfEntry(const std::string& content, int64_t tag) {
  auto part = ReadAt<ElfW(Phdr)>(content, PlaceOfPart(content, PT_DYNAMIC));
  for (size_t place = part.p_offset; place < part.p_offset + part.p_filesz; place += 16) {
    if (ReadAt<ElfW(Dyn)>(content, place).d_tag == tag) return place;
  }
  FAIL("no dynamic entry of tag " << tag);
  return 0;
}

size_t PlaceOfTable(const std::string& content, int64_t tag) {
  auto address = ReadAt<uint64_t>(content, PlaceOfEntry(content, tag) + 8);
  for (int n = 0;; ++n) {
    auto segment = ReadAt<ElfW(Phdr)>(content, PlaceOfPart(content, PT_LOAD, n));
    if (address >= segment.p_vaddr && address < segment.p_vaddr + segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
}

bool Names(const LibraryFile& file, const std::string& symbol) {
  for (const std::string& name : file.unserved) {
    if (name == symbol) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("names of the ABI") {
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

TEST_CASE("unserved symbols of a library") {
  LibraryFile file = ReadLibraryFile(kLibrary);
  CHECK_EQ(file.defect, "");
  CHECK(Names(file, "TVMFFIOfALaterRelease"));
  CHECK(Names(file, "TVMFFIOfALaterRelease2"));
  CHECK(!Names(ReadLibraryFile(LIBRARY_FOLDER "/needing_weak.so"), "TVMFFIMaybeThere"));
  CHECK(!Names(ReadLibraryFile(LIBRARY_FOLDER "/needing_foreign.so"), "no_such_function"));
}

TEST_CASE("other files have nothing to say") {
  for (const char* path : {"/nonexistent/library.so", "/dev/null", "/tmp", "/proc/self/mem"}) {
    LibraryFile file = ReadLibraryFile(path);
    CHECK_EQ(file.unserved.size(), 0u);
    CHECK_EQ(file.defect, "");
  }
}

// Each kind of damage, and what the sentence says about it.
TEST_CASE("damage is named") {
  using Change = std::function<void(std::string*)>;
  auto header = [](size_t place, auto value) -> Change {
    return [=](std::string* content) { WriteAt(content, place, value); };
  };
  auto part = [](uint32_t type, int n, size_t member, uint64_t value) -> Change {
    return [=](std::string* content) {
      WriteAt(content, PlaceOfPart(*content, type, n) + member, value);
    };
  };
  auto entry = [](int64_t tag, uint64_t value) -> Change {
    return [=](std::string* content) { WriteAt(content, PlaceOfEntry(*content, tag) + 8, value); };
  };
  auto tag = [](int64_t from, int64_t to) -> Change {
    return [=](std::string* content) { WriteAt(content, PlaceOfEntry(*content, from), to); };
  };
  auto table = [](int64_t tag, size_t place, uint32_t value) -> Change {
    return
        [=](std::string* content) { WriteAt(content, PlaceOfTable(*content, tag) + place, value); };
  };
  const size_t kOffset = offsetof(ElfW(Phdr), p_offset), kAddress = offsetof(ElfW(Phdr), p_vaddr),
               kFileSize = offsetof(ElfW(Phdr), p_filesz), kSize = offsetof(ElfW(Phdr), p_memsz),
               kAlign = offsetof(ElfW(Phdr), p_align);
  const uint64_t kFar = uint64_t{1} << 40;
  const std::pair<Change, const char*> kDamage[] = {
      {header(EI_CLASS, char{1}), "for another machine: its ELF class is 1, expected 2"},
      {header(EI_DATA, char{2}), "its byte order and the size of its program headers must be"},
      {header(18, uint16_t{183}), "for another machine: its ELF machine is 183, expected 62"},
      {header(16, uint16_t{1}), "no shared library: its ELF type is 1, expected 3"},
      {header(32, kFar), "the file is incomplete"},
      {part(PT_LOAD, 0, kFileSize, 1 << 12), "size in the file must be at most that in memory"},
      {part(PT_LOAD, 1, kAlign, 3), "alignment must be a power of two"},
      {part(PT_LOAD, 1, kAddress, 0), "the address must be behind the segment before"},
      {part(PT_LOAD, 1, kOffset, 0), "the offset must be behind the segment before"},
      {part(PT_LOAD, 1, kSize, 0x900), "the size of code in memory must be that in the file"},
      {part(PT_GNU_RELRO, 0, kAddress, kFar), "PT_GNU_RELRO must be about a part of a writable"},
      {part(PT_GNU_EH_FRAME, 0, kAddress, kFar), "PT_GNU_EH_FRAME must be about a part"},
      {part(PT_DYNAMIC, 0, kAddress, kFar), "PT_DYNAMIC must be about a part of a segment"},
      {part(PT_DYNAMIC, 0, kFileSize, 16), "the dynamic section must end with DT_NULL"},
      {tag(DT_INIT, DT_NULL), "the dynamic section must be empty behind DT_NULL"},
      {tag(DT_STRTAB, 0x10000), "the dynamic section must have DT_STRTAB"},
      {tag(DT_RELASZ, 0x10000), "must tell the address and the size of DT_RELA"},
      {entry(DT_STRTAB, kFar), "DT_STRTAB must be the address of "},
      {entry(DT_NEEDED, kFar), "a name in the dynamic section must be in the string table of "},
      {entry(DT_RELAENT, 8), "the size of an entry of DT_RELA must be 24, got 0x8"},
      {entry(DT_RELASZ, 25), "the size of DT_RELA must be a multiple of 24, got 0x19"},
      {entry(DT_RELA, kFar), "DT_RELA must be the address of "},
      {entry(DT_INIT_ARRAY, 64), "DT_INIT_ARRAY must be the address of "},
      {entry(DT_PLTREL, 17), "DT_PLTREL must be 7, got 0x11"},
      {entry(DT_PLTRELSZ, 0), "the size of DT_JMPREL must not be 0"},
      {entry(DT_PLTGOT, 64), "DT_PLTGOT must be an address in a writable segment"},
      {tag(DT_VERSYM, 0x10000), "must tell the versions of symbols beside their names"},
      {entry(DT_INIT, 64), "DT_INIT must be the address of code, got 0x40"},
      {entry(DT_FINI, kFar), "DT_FINI must be the address of code, got 0x10000000000"},
      {entry(DT_SYMENT, 16), "DT_SYMENT must be 24, got 0x10"},
      {entry(DT_SYMTAB, kFar), "DT_SYMTAB must be the address of "},
      {entry(DT_GNU_HASH, kFar), "DT_GNU_HASH must be the address of a table"},
      {entry(DT_RELACOUNT, 1000), "DT_RELACOUNT must be at most "},
      {entry(DT_VERSYM, kFar), "DT_VERSYM must be the address of the versions"},
      {entry(DT_VERNEED, 8), "DT_VERNEED must be the address of records"},
      {table(DT_GNU_HASH, 4, 1 << 20), "DT_SYMTAB must be the address of 1048576 symbols"},
      {table(DT_GNU_HASH, 8, 3), "DT_GNU_HASH must be the address of a table"},
      {table(DT_STRTAB, 0, 1), "the string table, at "},
      {table(DT_RELA, 8, 0), "relocation 0 must be relative"},
      {table(DT_RELA, 4, 1), "relocation 0 must be relative"},
  };
  std::string whole = ContentOf(kLibrary);
  for (const auto& [change, sentence] : kDamage) {
    std::string content = whole;
    change(&content);
    std::string defect = ReadContent(content).defect;
    INFO(std::string(sentence));
    INFO(defect);
    CHECK(defect.find("the file is ") == 0);
    CHECK(defect.find(sentence) != std::string::npos);
  }
}

TEST_CASE("string table of zeros") {
  std::string content = ContentOf(kLibrary);
  auto size = ReadAt<uint64_t>(content, PlaceOfEntry(content, DT_STRSZ) + 8);
  std::memset(content.data() + PlaceOfTable(content, DT_STRTAB), 0, size);
  CHECK(ReadContent(content).defect.find("must have a name in the string table, got none") !=
        std::string::npos);
}

// An interrupted download: the length is right, the end has never come.
TEST_CASE("file that was not written to its end") {
  std::string content = ContentOf(kLibrary);
  std::memset(content.data() + content.size() - 64, 0, 64);
  CHECK(ReadContent(content).defect.find("the file was probably not written to its end") !=
        std::string::npos);
}

TEST_CASE("last byte is missing") {
  std::string content = ContentOf(kLibrary), size = std::to_string(content.size());
  CHECK_EQ(ReadContent(content.substr(0, content.size() - 1)).defect,
           "the file is incomplete: it has " + std::to_string(content.size() - 1) +
               " bytes of at least " + size);
}

// What the system's linkers and distributors made, and what stands beside this program.
TEST_CASE("libraries of the system are accepted") {
  int num_libraries = 0;
  for (const std::string folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", LIBRARY_FOLDER}) {
    DIR* entries = opendir(folder.c_str());
    if (entries == nullptr) continue;
    while (dirent* entry = readdir(entries)) {
      std::string path = folder + "/" + entry->d_name;
      // Other tests write damaged ones beside their own.
      bool is_other =
          path.find("incomplete") != std::string::npos || path.find("damaged") != std::string::npos;
      if (path.find(".so") == std::string::npos || is_other) continue;
      ++num_libraries;
      INFO(path);
      CHECK_EQ(ReadLibraryFile(path).defect, "");
    }
    closedir(entries);
  }
  CHECK(num_libraries > 8);
}

TEST_CASE("truncated at every length") {
  std::string content = ContentOf(kLibrary);
  CHECK(content.size() > 4096);
  for (size_t size = 0; size < content.size(); size += size < 1200 ? 1 : 61) {
    LibraryFile file = ReadContent(content.substr(0, size));
    CHECK(file.unserved.size() <= 3);
  }
}

TEST_CASE("words replaced by huge numbers") {
  std::string content = ContentOf(kLibrary);
  for (size_t place = 16; place + 8 <= content.size(); place += 8) {
    // The headers, and all tables that the loader reads, lie in front of the code.
    if (place > 4096) break;
    for (uint64_t value : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63, uint64_t{0x7fffffff}}) {
      std::string changed = content;
      std::memcpy(changed.data() + place, &value, sizeof(value));
      CHECK(ReadContent(changed).unserved.size() <= 16);
    }
  }
}

TEST_CASE("random bytes behind the header") {
  std::string content = ContentOf(kLibrary);
  std::mt19937 random(20);
  for (int round = 0; round < 500; ++round) {
    std::string changed = content;
    for (int i = 0; i < 40; ++i) {
      changed[20 + random() % (std::min<size_t>(changed.size(), 4096) - 20)] =
          static_cast<char>(random());
    }
    CHECK(ReadContent(changed).unserved.size() <= 16);
  }
}
