// SPDX-License-Identifier: Apache-2.0
// Damaged copies of a library, each loaded in a process of its own.  A load that is not refused may
// work or fail, but ends the process only for reasons that no header tells.
#include <doctest/doctest.h>
#include <link.h>

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
T ReadAt(const std::string& content, size_t place) {
  T value;
  REQUIRE(place + sizeof(T) <= content.size());
  std::memcpy(&value, content.data() + place, sizeof(T));
  return value;
}

// How many loads worked, were refused or ended the process, and what the latter ones were.
struct Outcomes {
  int loaded = 0, refused = 0;
  std::vector<std::string> crashes;

  void Load(const std::string& content, const std::string& what) {
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
      crashes.push_back(what);
    }
  }

  // Of those that crashed, all must be known.
  void Check(const std::vector<std::string>& known) const {
    MESSAGE(loaded << " loaded, " << refused << " refused, " << crashes.size() << " crashed");
    for (const std::string& crash : crashes) {
      bool is_known = false;
      for (const std::string& name : known) is_known = is_known || name == crash;
      CHECK_MESSAGE(is_known, crash);
    }
  }
};

// The words of the header, the program headers and the dynamic section, with their names.
std::vector<std::pair<size_t, std::string>> WordsOf(const std::string& content) {
  std::vector<std::pair<size_t, std::string>> words;
  auto header = ReadAt<ElfW(Ehdr)>(content, 0);
  for (size_t place = 16; place < sizeof(header); place += 8) {
    words.emplace_back(place, "header+" + std::to_string(place));
  }
  for (size_t i = 0; i < header.e_phnum; ++i) {
    size_t begin = header.e_phoff + i * sizeof(ElfW(Phdr));
    auto part = ReadAt<ElfW(Phdr)>(content, begin);
    for (size_t place = 0; place < sizeof(part); place += 8) {
      words.emplace_back(begin + place, "program header of type " + std::to_string(part.p_type) +
                                            "+" + std::to_string(place));
    }
    if (part.p_type != PT_DYNAMIC) continue;
    for (size_t entry = part.p_offset;; entry += sizeof(ElfW(Dyn))) {
      auto tag = ReadAt<ElfW(Dyn)>(content, entry).d_tag;
      words.emplace_back(entry, "tag of entry " + std::to_string(tag));
      words.emplace_back(entry + 8, "value of entry " + std::to_string(tag));
      if (tag == DT_NULL) break;
    }
  }
  return words;
}

}  // namespace

TEST_CASE("each word of the headers and the dynamic section") {
  std::string content = WholeLibrary();
  Outcomes outcomes;
  for (const auto& [place, name] : WordsOf(content)) {
    auto word = ReadAt<uint64_t>(content, place);
    for (auto [value, how] : {std::pair<uint64_t, const char*>(0, " = 0"),
                              {~uint64_t{0}, " = all ones"},
                              {word + 1, " + 1"}}) {
      if (value == word) continue;
      std::string changed = content;
      std::memcpy(changed.data() + place, &value, sizeof(value));
      outcomes.Load(changed, name + how);
    }
  }
  CHECK(outcomes.refused > outcomes.loaded);
  // Code that begins one byte later.
  outcomes.Check({"value of entry " + std::to_string(DT_INIT) + " + 1",
                  "value of entry " + std::to_string(DT_FINI) + " + 1"});
}

TEST_CASE("zeros from somewhere to the end") {
  std::string content = WholeLibrary();
  Outcomes outcomes;
  const size_t last_header = content.size() - sizeof(ElfW(Shdr));
  for (size_t size = 0; size < content.size(); size += 128) {
    std::string changed = content;
    std::memset(changed.data() + size, 0, changed.size() - size);
    int loaded = outcomes.loaded;
    outcomes.Load(changed, "zeros from byte " + std::to_string(size));
    // What comes late in the last section header may be zeros as it was built.
    if (size <= last_header) CHECK_EQ(outcomes.loaded, loaded);
  }
  outcomes.Check({});
}

TEST_CASE("cut anywhere") {
  std::string content = WholeLibrary();
  Outcomes outcomes;
  for (size_t size = 0; size < content.size(); size += 128) {
    outcomes.Load(content.substr(0, size), "first " + std::to_string(size) + " bytes");
  }
  outcomes.Load(content.substr(0, content.size() - 1), "all bytes but one");
  outcomes.Check({});
  CHECK_EQ(outcomes.loaded, 0);
}
