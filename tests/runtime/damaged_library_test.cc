// SPDX-License-Identifier: Apache-2.0
// Loading damaged copies of a library, each in a child process: truncated files, zeros at the end,
// another machine, segments outside the file.  No copy may crash the process.
#include <doctest/doctest.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "child_process.h"
#include "values.h"

namespace {

std::string WholeLibrary() {
  std::ifstream file(KERNEL_LIBRARY, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
T ReadAt(const std::string& content, size_t offset) {
  T value;
  REQUIRE(offset + sizeof(T) <= content.size());
  std::memcpy(&value, content.data() + offset, sizeof(T));
  return value;
}

// Returns a copy of the file's bytes in which the bytes at the offset are replaced.
template <typename T>
std::string With(std::string content, size_t offset, T value) {
  REQUIRE(offset + sizeof(T) <= content.size());
  std::memcpy(content.data() + offset, &value, sizeof(T));
  return content;
}

// The number of loads that succeeded, the number that were refused, and the names of those that
// crashed.
struct Outcomes {
  int loaded = 0, refused = 0;
  std::vector<std::string> crashes;

  void Load(const std::string& content, const std::string& name) {
    static const std::string path = LIBRARY_FOLDER "/damaged_library.so";
    std::ofstream(path, std::ios::binary) << content;
    constexpr int kRefused = 3;
    ChildEnd end = RunInChild([] {
      TVMFFIAny module = None(), function = None();
      if (CallGlobal("ffi.ModuleLoadFromFile", {RawStr(path.c_str())}, &module) != 0) {
        _exit(kRefused);
      }
      CallGlobal("ffi.ModuleGetFunction", {module, RawStr("add_one"), Bool(false)}, &function);
      _exit(0);
    });
    unlink(path.c_str());
    if (end.exit_status == 0) {
      ++loaded;
    } else if (end.exit_status == kRefused) {
      ++refused;
    } else {
      crashes.push_back(name);
    }
  }

  void Check() const {
    MESSAGE(loaded << " loaded, " << refused << " refused, " << crashes.size() << " crashed");
    for (const std::string& crash : crashes) CHECK_MESSAGE(false, crash);
  }
};

}  // namespace

TEST_CASE("libraries for another machine are refused") {
  std::string content = WholeLibrary();
  Outcomes outcomes;
  outcomes.Load(With(content, EI_CLASS, char{ELFCLASS32}), "32-bit class");
  outcomes.Load(With(content, EI_DATA, char{ELFDATA2MSB}), "big-endian");
  outcomes.Load(With(content, offsetof(ElfW(Ehdr), e_machine), uint16_t{EM_S390}), "s390");
  outcomes.Load(With(content, offsetof(ElfW(Ehdr), e_type), uint16_t{ET_REL}), "object file");
  outcomes.Check();
  CHECK_EQ(outcomes.refused, 4);
}

TEST_CASE("segments outside the file are refused") {
  std::string content = WholeLibrary();
  auto header = ReadAt<ElfW(Ehdr)>(content, 0);
  Outcomes outcomes;
  int num_changed = 0;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    size_t begin = header.e_phoff + i * sizeof(ElfW(Phdr));
    auto segment = ReadAt<ElfW(Phdr)>(content, begin);
    if (segment.p_type != PT_LOAD) continue;
    for (size_t field : {offsetof(ElfW(Phdr), p_offset), offsetof(ElfW(Phdr), p_filesz)}) {
      std::string name = "segment " + std::to_string(i) + ", field " + std::to_string(field);
      outcomes.Load(With(content, begin + field, uint64_t{1} << 40), name + " = 1 TiB");
      outcomes.Load(With(content, begin + field, ~uint64_t{0}), name + " = all ones");
      num_changed += 2;
    }
  }
  outcomes.Check();
  CHECK_GT(num_changed, 4);
  CHECK_EQ(outcomes.refused, num_changed);
}

TEST_CASE("files with zeros at the end are refused") {
  std::string content = WholeLibrary();
  Outcomes outcomes;
  const size_t last_header = content.size() - sizeof(ElfW(Shdr));
  for (size_t size = 0; size < content.size(); size += 128) {
    std::string changed = content;
    std::memset(changed.data() + size, 0, changed.size() - size);
    int loaded = outcomes.loaded;
    outcomes.Load(changed, "zeros from byte " + std::to_string(size));
    // In an intact file, the last fields of the last section header may be zero, too.
    if (size <= last_header) CHECK_EQ(outcomes.loaded, loaded);
  }
  outcomes.Check();
}

TEST_CASE("files truncated at any byte are refused") {
  std::string content = WholeLibrary();
  Outcomes outcomes;
  for (size_t size = 0; size < content.size(); size += 128) {
    outcomes.Load(content.substr(0, size), "first " + std::to_string(size) + " bytes");
  }
  outcomes.Load(content.substr(0, content.size() - 1), "all bytes but one");
  outcomes.Check();
  CHECK_EQ(outcomes.loaded, 0);
}
