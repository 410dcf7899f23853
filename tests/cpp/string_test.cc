// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/any.h>

#include <sstream>

namespace {

using namespace tvm::ffi;

int32_t IndexOf(const String& text) { return Any(text).type_index(); }

TEST_CASE("short strings are stored in the value") {
  CHECK_EQ(IndexOf(String("1234567")), kTVMFFISmallStr);
  CHECK_EQ(IndexOf(String("12345678")), kTVMFFIStr);
  CHECK_EQ(String("12345678").c_str()[8], 0);
}

TEST_CASE("strings of any size are copied") {
  char buffer[] = "12345678 and more";
  String text(buffer, 8);
  buffer[0] = '!';
  CHECK_EQ(text, "12345678");
  CHECK_EQ(std::strlen(text.c_str()), 8u);
  CHECK_EQ(String(std::string(9, '\0').data(), 9).size(), 9u);
  CHECK(String(nullptr, 0).empty());
}

TEST_CASE("adopted strings are on the heap and still equal") {
  String adopted(std::string("abc"));
  CHECK_EQ(IndexOf(adopted), kTVMFFIStr);
  CHECK(adopted == String("abc"));
  CHECK(AnyEqual()(Any(adopted), Any(String("abc"))));
  CHECK_EQ(AnyHash()(Any(adopted)), AnyHash()(Any(String("abc"))));
  CHECK_EQ(std::hash<String>()(adopted), std::hash<String>()(String("abc")));
}

// Sizes near those at which the comparison algorithm changes; each byte is changed once.
TEST_CASE("strings are equal if every byte is equal") {
  for (size_t size = 0; size <= 140; ++size) {
    std::string content(size, 'x');
    String text(content);
    CHECK(text == String(content));
    CHECK(text == String(std::string(content)));  // adopted
    CHECK(text == content);
    CHECK(text != String(content + 'x'));
    for (char& byte : content) {
      byte = '\0';
      CHECK(text != String(content));
      CHECK(text != String(std::string(content)));
      CHECK(String(std::string(content)) != text);
      CHECK_FALSE(AnyEqual()(Any(text), Any(String(content))));
      byte = 'x';
    }
  }
  CHECK(String("a\0", 2) != String("a"));
}

TEST_CASE("string types compare with each other") {
  String text = "hello";
  CHECK((text == "hello" && "hello" == text && text == std::string("hello")));
  CHECK((text != "hell" && text > "hell" && "help" > text && text <= text));
  CHECK_EQ(text + " world", "hello world");
  CHECK_EQ("say " + text, std::string("say hello"));
  CHECK_EQ(text.compare("hellp"), -1);
}

TEST_CASE("search and split") {
  String text = "a,b,,c";
  CHECK_EQ(text.find("b"), 2u);
  CHECK_EQ(text.find("z"), String::npos);
  CHECK_EQ(text.substr(2, 1), "b");
  CHECK((text.starts_with("a,") && text.ends_with(String("c")) && !text.ends_with("a,b,,,c")));
  std::vector<std::string_view> parts = text.Split(',');
  CHECK_EQ(parts.size(), 4u);
  CHECK_EQ(parts[2], "");
  CHECK_EQ(parts[3], "c");
  bool thrown = false;
  try {
    text.at(6);
  } catch (const std::out_of_range& error) {
    thrown = std::string(error.what()) == "tvm::String index out of bounds";
  }
  CHECK(thrown);
}

TEST_CASE("escaped forms") {
  CHECK_EQ(EscapeStringJSON(String("a\"/\n\x01")), "\"a\\\"\\/\\n\\u0001\"");
  CHECK_EQ(EscapedStringPy(String("a\t\"\x1b[1m\xff")), "\"a\\t\\\"\\x1b[1m\\xff\"");
  CHECK_EQ(EscapedStringPy(String("\xc3\xa9\xf0\x9f\x98\x80")), "\"\\u00e9\\U0001f600\"");
}

TEST_CASE("bytes are ordered by content") {
  Bytes bytes("a\0b", 3);
  CHECK_EQ(bytes.size(), 3u);
  CHECK_EQ(Bytes::memncmp("ab", "abc", 2, 3), -1);
  CHECK(Bytes::memequal("ab", "ab", 2, 2));
}

TEST_CASE("streams are supported") {
  std::ostringstream out;
  out << String("text");
  CHECK_EQ(out.str(), "text");
}

}  // namespace
