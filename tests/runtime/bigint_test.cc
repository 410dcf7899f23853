// SPDX-License-Identifier: Apache-2.0
// Integers of any width: canonical form, and borrowed access to the words.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "raised.h"
#include "values.h"

namespace {

constexpr uint64_t kTop = UINT64_C(0x8000000000000000);  // the sign bit of a 64-bit word
constexpr uint64_t kOnes = UINT64_C(0xFFFFFFFFFFFFFFFF);

TVMFFIAny FromWords(const std::vector<uint64_t>& words) {
  TVMFFIByteArray input = {reinterpret_cast<const char*>(words.data()), words.size() * 8};
  TVMFFIAny any = GarbageAny();
  CHECK_EQ(TVMFFIBigIntFromByteArray(&input, &any), 0);
  return any;
}

std::vector<uint64_t> WordsOf(const TVMFFIAny& any) {
  TVMFFIByteArray content = TVMFFIBigIntGetContentByteArray(&any);
  auto* words = reinterpret_cast<const uint64_t*>(content.data);
  return {words, words + content.size / 8};
}

}  // namespace

TEST_CASE("a value that fits one word is a plain int") {
  struct Case {
    std::vector<uint64_t> words;
    int64_t value;
  };
  const Case cases[] = {
      {{}, 0},
      {{0}, 0},
      {{1}, 1},
      {{kOnes}, -1},
      {{kTop}, INT64_MIN},
      {{kTop - 1}, INT64_MAX},
      {{5, 0}, 5},
      {{5, 0, 0, 0}, 5},
      {{0, 0}, 0},
      {{kOnes, kOnes}, -1},
      {{kTop, kOnes, kOnes}, INT64_MIN},
      {{kTop - 1, 0}, INT64_MAX},
  };
  for (const Case& c : cases) CHECK(SameBytes(FromWords(c.words), Int(c.value)));
}

TEST_CASE("a wider value keeps the fewest words") {
  struct Case {
    std::vector<uint64_t> words;
    std::vector<uint64_t> canonical;
  };
  const Case cases[] = {
      {{kTop, 0}, {kTop, 0}},                  // 2^63; without the zero word, it would be negative
      {{kTop, 0, 0, 0}, {kTop, 0}},            //
      {{kTop - 1, kOnes}, {kTop - 1, kOnes}},  // -2^63 - 1
      {{kTop - 1, kOnes, kOnes}, {kTop - 1, kOnes}},
      {{0, 1}, {0, 1}},  // 2^64
      {{0, 1, 0}, {0, 1}},
      {{0, kTop, 0}, {0, kTop, 0}},   // 2^127
      {{0, kTop, kOnes}, {0, kTop}},  // -2^127
      {{0, kTop}, {0, kTop}},
  };
  for (const Case& c : cases) {
    TVMFFIAny any = FromWords(c.words);
    CHECK_EQ(any.type_index, 78);
    CHECK_EQ(any.zero_padding, 0u);
    CHECK(WordsOf(any) == c.canonical);
    Release(any);
  }
}

TEST_CASE("a big int object holds count and words at the documented offsets") {
  TVMFFIAny any = FromWords({1, 2, 3});
  auto* words = reinterpret_cast<const uint64_t*>(any.v_obj);
  CHECK_EQ(any.v_obj->type_index, 78);
  CHECK_EQ(words[3], 3u);  // byte 24: word count
  CHECK_EQ(words[4], 1u);  // byte 32: least significant word
  CHECK_EQ(words[6], 3u);
  TVMFFIByteArray content = TVMFFIBigIntGetContentByteArray(&any);
  CHECK(content.data == reinterpret_cast<const char*>(any.v_obj) + 32);
  CHECK_EQ(content.size, 24u);
  Release(any);
}

TEST_CASE("the content of a plain int is its payload") {
  TVMFFIAny any = Int(-2);
  TVMFFIByteArray content = TVMFFIBigIntGetContentByteArray(&any);
  CHECK(content.data == any.v_bytes);
  CHECK_EQ(content.size, 8u);
}

TEST_CASE("a fraction of a word is a value error and returns no content") {
  const char bytes[9] = {};
  for (size_t size : {size_t{1}, size_t{7}, size_t{9}}) {
    TVMFFIByteArray input = {bytes, size};
    TVMFFIAny any = GarbageAny();
    CHECK_RAISES(TVMFFIBigIntFromByteArray(&input, &any), "ValueError", "8-byte words");
    CHECK(SameBytes(any, None()));
  }
}
