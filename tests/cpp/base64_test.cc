// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/extra/base64.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

struct Vector {
  std::string bytes;
  const char* text;
};

// Examples of RFC 4648 section 10, and the digits for 62 and 63.
const Vector kVectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xfb\xff\xbf", "+/+/"},
    {std::string("\0\0\0", 3), "AAAA"},
    {std::string("\0", 1), "AA=="},
};

TEST_CASE("published vectors") {
  for (const Vector& vector : kVectors) {
    CHECK(Base64Encode(Bytes(vector.bytes)) == vector.text);
    CHECK(Base64Encode(TVMFFIByteArray{vector.bytes.data(), vector.bytes.size()}) == vector.text);
    CHECK_EQ(std::string(Base64Decode(String(vector.text))), vector.bytes);
    CHECK_EQ(std::string(Base64Decode(TVMFFIByteArray{vector.text, std::strlen(vector.text)})),
             vector.bytes);
  }
}

TEST_CASE("every byte value") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    std::string part = bytes.substr(bytes.size() - size);
    CHECK_EQ(std::string(Base64Decode(Base64Encode(Bytes(part)))), part);
  }
}

TEST_CASE("wrong length") {
  std::string text = Thrown([] { Base64Decode(String("Zg=")); });
  CHECK(text.rfind("InternalError: ", 0) == 0);
  std::string end = "expected base64 text whose length is a multiple of 4";
  CHECK((text.size() > end.size() && text.substr(text.size() - end.size()) == end));
}

TEST_CASE("characters are not validated") { CHECK_EQ(Base64Decode(String("!!!!")).size(), 3); }

}  // namespace
