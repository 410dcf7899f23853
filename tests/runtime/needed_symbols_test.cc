// SPDX-License-Identifier: Apache-2.0
// The reader of library files, given files that are no libraries any more.
#include "../../runtime/extra/module/library/needed_symbols.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
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
