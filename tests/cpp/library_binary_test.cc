// SPDX-License-Identifier: Apache-2.0
// Decoder of the bytes that a library embeds: results, and messages for malformed bytes.  Linked
// with the archive, which has the decoder's symbols.
#include "../../runtime/extra/module/library/library_binary.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "thrown.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

thread_local size_t bytes_requested = 0;

}  // namespace

#define NOINLINE __attribute__((noinline))
NOINLINE void* operator new(size_t size) {
  bytes_requested += size;
  void* space = std::malloc(size);
  if (space == nullptr) throw std::bad_alloc();
  return space;
}
NOINLINE void operator delete(void* space) noexcept { std::free(space); }
NOINLINE void operator delete(void* space, size_t) noexcept { std::free(space); }

namespace {

using tvm::ffi::extra::DecodeLibraryBinary;
using tvm::ffi::extra::LibraryBinary;

const unsigned char kDiamond[] = {
#include "../runtime/embedded_diamond.inc"
};
const std::string kDiamondBytes(reinterpret_cast<const char*>(kDiamond), sizeof(kDiamond));

std::string Word(uint64_t value) {
  std::string bytes(8, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(value & 0xFF);
    value >>= 8;
  }
  return bytes;
}
std::string Words(const std::vector<uint64_t>& values) {
  std::string bytes;
  for (uint64_t value : values) bytes += Word(value);
  return bytes;
}
std::string Text(const std::string& text) { return Word(text.size()) + text; }
std::string WithTotal(const std::string& rest) { return Word(rest.size()) + rest; }

// Decodes an exact copy, so that AddressSanitizer detects reads past the end.
void Decode(const std::string& bytes) {
  std::vector<char> copy(bytes.begin(), bytes.end());
  DecodeLibraryBinary({copy.data(), copy.size()}, "lib.so");
}

// The error message without the common prefix.
std::string Fault(const std::string& bytes) {
  std::string begin =
      "RuntimeError: Failed to load lib.so: __tvm_ffi__library_bin is malformed at byte ";
  std::string thrown = Thrown([&] { Decode(bytes); });
  return thrown.substr(0, begin.size()) == begin ? thrown.substr(begin.size())
                                                 : "not refused: " + thrown;
}

int Enter(const std::string& bytes) {
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  return LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

}  // namespace

// ---- Well-formed bytes ------------------------------------------------------------------------

TEST_CASE("a diamond is decoded") {
  LibraryBinary binary = DecodeLibraryBinary(kDiamondBytes, "lib.so");
  CHECK_EQ(kDiamondBytes.size(), 169u);
  CHECK_EQ(binary.entries.size(), 4u);
  const char* kinds[] = {"a", "_lib", "b", "a"};
  const char* payloads[] = {"top", "", "left", "end"};
  size_t first[] = {0, 2, 3, 4}, end[] = {2, 3, 4, 4};
  for (size_t i = 0; i < 4; ++i) {
    CHECK_EQ(binary.entries[i].kind, kinds[i]);
    CHECK_EQ(binary.entries[i].payload, payloads[i]);
    CHECK_EQ(binary.entries[i].first_import, first[i]);
    CHECK_EQ(binary.entries[i].end_import, end[i]);
    CHECK_EQ(binary.entries[i].IsLibrary(), i == 1);
  }
  CHECK(binary.imports == (std::vector<size_t>{1, 2, 3, 3}));
  CHECK_EQ(binary.importers_first.front(), 0u);
  CHECK_EQ(binary.importers_first.back(), 3u);
}

TEST_CASE("bytes after the total size are ignored") {
  Decode(kDiamondBytes + std::string(9, '\xff'));
  Decode(WithTotal(Words({2, 0, 0, 0}) + Text("_lib")) + '\0');  // a C string literal
}

TEST_CASE("a library may be several modules") {
  Decode(WithTotal(Words({3, 0, 1, 1, 1, 1}) + Text("_lib") + Text("_lib")));
}

TEST_CASE("a library need not be among the modules") {
  Decode(WithTotal(Words({2, 0, 0, 0}) + Text("a") + Text("payload")));
}

TEST_CASE("a module may be imported twice or not at all") {
  Decode(WithTotal(Words({4, 0, 2, 2, 2, 2, 1, 1}) + Text("_lib") + Text("a") + Text("") +
                   Text("b") + Text("")));
}

TEST_CASE("kinds are arbitrary text") {
  Decode(WithTotal(Words({2, 0, 0, 0}) + Text("k\xc3\xbc \xf0\x9f\x98\x80.") + Text("")));
}

// ---- Malformed bytes --------------------------------------------------------------------------

TEST_CASE("every truncation is rejected") {
  for (size_t size = 0; size < kDiamondBytes.size(); ++size) {
    std::string cut = kDiamondBytes.substr(0, size);
    CHECK(Fault(cut).substr(0, 3) != "not");
    if (size < 8) continue;
    CHECK(Fault(WithTotal(cut.substr(8))).substr(0, 3) != "not");  // with a correct total size
    CHECK_EQ(Enter(WithTotal(cut.substr(8))), 0);
  }
}

TEST_CASE("any single-byte change is handled safely") {
  for (size_t i = 0; i < kDiamondBytes.size(); ++i) {
    std::string changed = kDiamondBytes;
    for (int byte = 0; byte < 256; ++byte) {
      changed[i] = static_cast<char>(byte);
      CHECK_EQ(Enter(changed), 0);
    }
  }
}

TEST_CASE("invalid sizes are rejected") {
  CHECK_EQ(Fault(""), "0: the bytes end within the number of bytes");
  CHECK_EQ(Fault(std::string(7, '\0')), "0: the bytes end within the number of bytes");
  CHECK_EQ(Fault(Word(0)), "8: the bytes end within the number of row pointers");
  CHECK_EQ(Fault(Word(1) + ""), "0: 1 bytes should follow, but the symbol has 8 in all");
  CHECK_EQ(Fault(Words({~uint64_t{0}, 2})),
           "0: 18446744073709551615 bytes should follow, but the symbol has 16 in all");
  CHECK_EQ(Fault(WithTotal(Words({2, 0, 0, 0}) + Text("_lib") + "junk")),
           "52: 4 bytes follow the last module");
}

TEST_CASE("invalid row pointers are rejected") {
  CHECK_EQ(Fault(WithTotal(Words({0, 0}))), "8: expected at least one module, got none");
  CHECK_EQ(Fault(WithTotal(Words({1, 0, 0}))), "8: expected at least one module, got none");
  CHECK_EQ(Fault(WithTotal(Words({uint64_t{1} << 61, 0, 0}))),
           "8: the number of row pointers is 2305843009213693952, but only 16 bytes are left");
  CHECK_EQ(Fault(WithTotal(Words({2, 1, 1, 1, 0}) + Text("_lib"))),
           "16: the first row pointer is not 0");
  CHECK_EQ(Fault(WithTotal(Words({3, 0, 1, 0, 0}))),
           "32: row pointer 2 is 0, less than the previous one, 1");
  CHECK_EQ(Fault(WithTotal(Words({2, 0, 2, 1, 0}))),
           "32: there are 1 imports, but the row pointers end with 2");
  CHECK_EQ(Fault(WithTotal(Words({2, 0, ~uint64_t{0}, 1, 0}))),
           "32: there are 1 imports, but the row pointers end with 18446744073709551615");
}

TEST_CASE("invalid imports are rejected") {
  CHECK_EQ(Fault(WithTotal(Words({2, 0, 1, ~uint64_t{0}, 0}))),
           "32: the number of imports is 18446744073709551615, but only 8 bytes are left");
  CHECK_EQ(Fault(WithTotal(Words({2, 0, 1, 1, 1}) + Text("_lib"))),
           "40: module 1 is imported, but there are only 1");
  CHECK_EQ(Fault(WithTotal(Words({2, 0, 1, 1, 0}) + Text("_lib"))),
           "40: module 0 imports itself, directly or indirectly");
  CHECK_EQ(Fault(WithTotal(Words({4, 0, 1, 2, 3, 3, 1, 2, 1}) + Text("_lib") + Text("a") +
                           Text("") + Text("a") + Text(""))),
           "72: module 1 imports itself, directly or indirectly");
}

TEST_CASE("invalid modules are rejected") {
  std::string one = Words({2, 0, 0, 0}), two = Words({3, 0, 0, 0, 0});
  CHECK_EQ(Fault(WithTotal(one)), "40: the bytes end within the size of a kind");
  CHECK_EQ(Fault(WithTotal(one + Text(""))), "40: module 0 has an empty kind");
  CHECK_EQ(Fault(WithTotal(one + Word(5) + "abcd")),
           "40: the size of a kind is 5, but only 4 bytes are left");
  CHECK_EQ(Fault(WithTotal(one + Text("a"))), "49: the bytes end within the size of a payload");
  CHECK_EQ(Fault(WithTotal(one + Text("a") + Word(uint64_t{1} << 63))),
           "49: the size of a payload is 9223372036854775808, but only 0 bytes are left");
  CHECK_EQ(Fault(WithTotal(two + Text("_lib") + Text("_li"))),
           "71: the bytes end within the size of a payload");
}

TEST_CASE("invalid text is rejected") {
  std::string one = Words({2, 0, 0, 0});
  for (const char* kind : {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    CHECK_EQ(Fault(WithTotal(one + Text(kind) + Text(""))),
             "48: the kind of module 0 is not UTF-8 text");
  }
  CHECK_EQ(Fault(WithTotal(one + Text(std::string("a\0b", 3)) + Text(""))),
           "48: the kind of module 0 is not UTF-8 text");
}

// ---- Bounds -----------------------------------------------------------------------------------

TEST_CASE("memory use is bounded by the number of bytes") {
  for (uint64_t huge : {uint64_t{1} << 32, uint64_t{1} << 61, ~uint64_t{0}}) {
    for (size_t offset = 0; offset < 96; offset += 8) {
      std::string bytes = kDiamondBytes;
      bytes.replace(offset, 8, Word(huge));
      bytes_requested = 0;
      CHECK(Fault(bytes).substr(0, 3) != "not");
      CHECK(bytes_requested < 16384);  // mostly the error's backtrace
    }
  }
}

TEST_CASE("long chains are decoded and released") {
  constexpr uint64_t kLength = 100000;
  std::vector<uint64_t> words = {kLength + 1};
  for (uint64_t i = 0; i < kLength; ++i) words.push_back(i);
  words.push_back(kLength - 1);
  words.push_back(kLength - 1);
  for (uint64_t i = 1; i < kLength; ++i) words.push_back(i);
  std::string bytes = Words(words);
  for (uint64_t i = 0; i < kLength; ++i) bytes += Text("a") + Text("");
  bytes = WithTotal(bytes);
  bytes_requested = 0;
  LibraryBinary binary = DecodeLibraryBinary(bytes, "lib.so");
  CHECK(bytes_requested < 5 * bytes.size());
  CHECK_EQ(binary.importers_first[0], 0u);
  CHECK_EQ(binary.importers_first[kLength - 1], kLength - 1);
  CHECK_EQ(Enter(bytes), 0);
}

TEST_CASE("wide trees are decoded and released") {
  constexpr uint64_t kWidth = 10000;
  std::vector<uint64_t> words = {kWidth + 2, 0};
  words.resize(words.size() + kWidth + 1, kWidth);
  words.push_back(kWidth);
  for (uint64_t i = 1; i <= kWidth; ++i) words.push_back(i);
  std::string bytes = Words(words) + Text("_lib");
  for (uint64_t i = 0; i < kWidth; ++i) bytes += Text("b") + Text("payload");
  Decode(WithTotal(bytes));
  CHECK_EQ(Enter(WithTotal(bytes)), 0);
}

TEST_CASE("a loader that fails leaks nothing") {
  std::string entries = Text("a") + Text("") + Text("refuse") + Text("");
  CHECK_EQ(Enter(WithTotal(Words({3, 0, 1, 1, 1, 1}) + entries)), 0);
}
