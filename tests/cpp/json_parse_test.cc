// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/extra/json.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string ParseError(std::string_view text) {
  return Thrown([&] { json::Parse(String(text.data(), text.size())); });
}

bool IsInt(const Any& value, int64_t expected) {
  return value.type_index() == kTVMFFIInt && value.cast<int64_t>() == expected;
}

// Distinguishes 0.0 from -0.0.
bool IsFloat(const Any& value, double expected) {
  if (value.type_index() != kTVMFFIFloat) return false;
  double actual = value.cast<double>();
  return std::memcmp(&actual, &expected, sizeof(double)) == 0;
}

TEST_CASE("constants") {
  CHECK(json::Parse("null") == nullptr);
  CHECK(json::Parse("true").as<bool>() == true);
  CHECK(json::Parse("false").as<bool>() == false);
  CHECK(std::isnan(json::Parse("NaN").as_or_throw<double>()));
  CHECK(IsFloat(json::Parse("Infinity"), kInfinity));
  CHECK(IsFloat(json::Parse(" \t\r\n-Infinity \t\r\n"), -kInfinity));
}

TEST_CASE("integers") {
  struct Case {
    const char* text;
    int64_t value;
  };
  const Case cases[] = {
      {"0", 0},
      {"-0", 0},
      {"7", 7},
      {"-42", -42},
      {"9007199254740993", 9007199254740993},
      {"2147483648", 2147483648},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
  };
  for (const Case& c : cases) {
    CHECK_MESSAGE(IsInt(json::Parse(c.text), c.value), c.text);
  }
}

TEST_CASE("floats") {
  struct Case {
    const char* text;
    double value;
  };
  const Case cases[] = {
      {"0.0", 0.0},
      {"-0.0", -0.0},
      {"1.0", 1.0},
      {"0.1", 0x1.999999999999ap-4},
      {"1e5", 100000.0},
      {"1E+5", 100000.0},
      {"1e-5", 0x1.4f8b588e368f1p-17},
      {"12345678901234567890123.5", 0x1.4ea15b273b38ap+73},
      {"0e99999999999999999999", 0.0},
      {"-0e0", -0.0},
      // Numbers one beyond the int64 range at either end.
      {"9223372036854775808", 0x1p+63},
      {"-9223372036854775809", -0x1p+63},
      {"18446744073709551616", 0x1p+64},
      // A number halfway between two doubles is rounded to the even one.
      {"9007199254740993.0", 0x1p+53},
      {"9007199254740995.0", 0x1.0000000000002p+53},
      {"1.7976931348623157e308", std::numeric_limits<double>::max()},
      {"2.2250738585072014e-308", std::numeric_limits<double>::min()},
      // Subnormal numbers.
      {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
      {"4.9e-324", 0x0.0000000000001p-1022},
      {"-1e-320", -0x0.00000000007e8p-1022},
      {"1e-400", 0.0},
      {"-1e-99999999999999999999", -0.0},
  };
  for (const Case& c : cases) {
    CHECK_MESSAGE(IsFloat(json::Parse(c.text), c.value), c.text);
  }
}

TEST_CASE("floats of extreme magnitude") {
  std::string zeros(400, '0');
  CHECK(IsFloat(json::Parse(String("0." + zeros + "1")), 0.0));
  CHECK(IsFloat(json::Parse(String("-0." + zeros + "1e20")), -0.0));
  CHECK(IsFloat(json::Parse(String("0." + zeros + "1e401")), 1.0));
  CHECK(IsFloat(json::Parse(String("1" + zeros + "e-400")), 1.0));
  CHECK(IsFloat(json::Parse(String("1" + zeros + "e-800")), 0.0));
  const std::string kTooLarge = "ValueError: Number too large: line 1 column 1 (char 0)";
  CHECK_EQ(ParseError("1e309"), kTooLarge);
  CHECK_EQ(ParseError("-1e309"), kTooLarge);
  CHECK_EQ(ParseError("1.7976931348623159e308"), kTooLarge);
  CHECK_EQ(ParseError("1e99999999999999999999"), kTooLarge);
  CHECK_EQ(ParseError("1" + zeros), kTooLarge);
  CHECK_EQ(ParseError("-1" + zeros + "e-50"), kTooLarge);
  CHECK_EQ(ParseError("0." + zeros + "1e900"), kTooLarge);
}

TEST_CASE("strings") {
  struct Case {
    std::string text;
    std::string value;
  };
  const Case cases[] = {
      {R"("")", ""},
      {R"("abcdefg")", "abcdefg"},
      {R"("abcdefgh")", "abcdefgh"},
      {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
      {R"("a\nb\u0041c")", "a\nbAc"},
      {R"("\u0000")", std::string(1, '\0')},
      {R"("\u007f\u0080\u07FF\u0800\uffff")", "\x7f\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"},
      {R"("\ud800\uDC00\uDBFF\udfff")", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
      {"\"\x7f\"", "\x7f"},
      {"\"\xC3\xA9\xF0\x9F\x98\x80\"", "\xC3\xA9\xF0\x9F\x98\x80"},
      // Bytes that are not UTF-8 are passed through unchanged.
      {"\"\xff\xC3\"", "\xff\xC3"},
  };
  for (const Case& c : cases) {
    Any value = json::Parse(String(c.text));
    CHECK_EQ(std::string(value.as_or_throw<String>()), c.value);
    // Short strings are stored inline in the value, as the C API stores them.
    CHECK_EQ(value.type_index(), c.value.size() <= 7 ? kTVMFFISmallStr : kTVMFFIStr);
  }
}

TEST_CASE("containers") {
  CHECK_EQ(json::Parse("[]").as_or_throw<json::Array>().size(), 0u);
  CHECK_EQ(json::Parse(" { } ").as_or_throw<json::Object>().size(), 0u);
  json::Array array = json::Parse("[1, 2.5,\"x\" ,[ ] , null]").as_or_throw<json::Array>();
  CHECK_EQ(array.size(), 5u);
  CHECK(IsInt(array[0], 1));
  CHECK(IsFloat(array[1], 2.5));
  CHECK(array[2].as_or_throw<String>() == "x");
  CHECK_EQ(array[3].as_or_throw<json::Array>().size(), 0u);
  CHECK(array[4] == nullptr);
  json::Object object =
      json::Parse(R"({"b": {"": [true]}, "a\n": -1})").as_or_throw<json::Object>();
  CHECK_EQ(object.size(), 2u);
  CHECK((*object.begin()).first.as_or_throw<String>() == "b");
  CHECK(IsInt(object[String("a\n")], -1));
  json::Object inner = object[String("b")].as_or_throw<json::Object>();
  CHECK(inner[String("")].as_or_throw<json::Array>()[0].as_or_throw<bool>());
}

TEST_CASE("the last of several equal keys wins") {
  json::Object few = json::Parse(R"({"a":1,"\u0061":2})").as_or_throw<json::Object>();
  CHECK_EQ(few.size(), 1u);
  CHECK(IsInt(few[String("a")], 2));
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) {
    text += "\"key " + std::to_string(i % 100) + "\":" + std::to_string(i) + ",";
  }
  text.back() = '}';
  json::Object many = json::Parse(String(text)).as_or_throw<json::Object>();
  CHECK_EQ(many.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    CHECK(IsInt(many[String("key " + std::to_string(i))], 900 + i));
  }
}

TEST_CASE("malformed text") {
  struct Case {
    std::string_view text;
    const char* error;
  };
  using namespace std::string_view_literals;
  const Case cases[] = {
      {"", "Expecting value: line 1 column 1 (char 0)"},
      {" ", "Expecting value: line 1 column 2 (char 1)"},
      {"\n", "Expecting value: line 2 column 1 (char 1)"},
      {"\r\n\r\n x", "Expecting value: line 3 column 2 (char 5)"},
      {"nul", "Expecting value: line 1 column 1 (char 0)"},
      {"True", "Expecting value: line 1 column 1 (char 0)"},
      {"nan", "Expecting value: line 1 column 1 (char 0)"},
      {"-NaN", "Expecting value: line 1 column 1 (char 0)"},
      {"-Inf", "Expecting value: line 1 column 1 (char 0)"},
      {"+Infinity", "Expecting value: line 1 column 1 (char 0)"},
      {"inf", "Expecting value: line 1 column 1 (char 0)"},
      {"nulll", "Extra data: line 1 column 5 (char 4)"},
      {"5\x0b", "Extra data: line 1 column 2 (char 1)"},
      {"5\0"sv, "Extra data: line 1 column 2 (char 1)"},
      {"\0"sv, "Expecting value: line 1 column 1 (char 0)"},
      {"\xEF\xBB\xBF"
       "1",
       "Expecting value: line 1 column 1 (char 0)"},
      {"//c\n1", "Expecting value: line 1 column 1 (char 0)"},
      {"'a'", "Expecting value: line 1 column 1 (char 0)"},
      {"}", "Expecting value: line 1 column 1 (char 0)"},
      // Numbers
      {"-", "Expecting value: line 1 column 1 (char 0)"},
      {"+", "Expecting value: line 1 column 1 (char 0)"},
      {".", "Expecting value: line 1 column 1 (char 0)"},
      {"+.", "Expecting value: line 1 column 1 (char 0)"},
      {"--1", "Expecting value: line 1 column 1 (char 0)"},
      {"+-1", "Expecting value: line 1 column 1 (char 0)"},
      {"-+1", "Expecting value: line 1 column 1 (char 0)"},
      {"++1", "Expecting value: line 1 column 1 (char 0)"},
      {"1-2", "Extra data: line 1 column 2 (char 1)"},
      {"1e", "Extra data: line 1 column 2 (char 1)"},
      {"1e+", "Extra data: line 1 column 2 (char 1)"},
      {"1.e+", "Extra data: line 1 column 2 (char 1)"},
      {"e5", "Expecting value: line 1 column 1 (char 0)"},
      {"1.2.3", "Extra data: line 1 column 4 (char 3)"},
      {"01", "Extra data: line 1 column 2 (char 1)"},
      {"-01", "Extra data: line 1 column 3 (char 2)"},
      {"00", "Extra data: line 1 column 2 (char 1)"},
      {"1.", "Extra data: line 1 column 2 (char 1)"},
      {"1.e5", "Extra data: line 1 column 2 (char 1)"},
      {"+1", "Expecting value: line 1 column 1 (char 0)"},
      {".5", "Expecting value: line 1 column 1 (char 0)"},
      {"-.5", "Expecting value: line 1 column 1 (char 0)"},
      {"1e5e5", "Extra data: line 1 column 4 (char 3)"},
      {"0x10", "Extra data: line 1 column 2 (char 1)"},
      {"1_000", "Extra data: line 1 column 2 (char 1)"},
      {"1,", "Extra data: line 1 column 2 (char 1)"},
      // Arrays
      {"[", "Expecting value: line 1 column 2 (char 1)"},
      {"[1", "Expecting ',' delimiter: line 1 column 3 (char 2)"},
      {"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"},
      {"[1\0]"sv, "Expecting ',' delimiter: line 1 column 3 (char 2)"},
      {"[1}", "Expecting ',' delimiter: line 1 column 3 (char 2)"},
      {"[1,", "Syntax error near: line 1 column 4 (char 3)"},
      {"[1 ,\n ", "Syntax error near: line 2 column 2 (char 6)"},
      {"[1,]", "Expecting value: line 1 column 4 (char 3)"},
      {"[,1]", "Expecting value: line 1 column 2 (char 1)"},
      {"[1]]", "Extra data: line 1 column 4 (char 3)"},
      {"[1,2\n,3\n,x]", "Expecting value: line 3 column 2 (char 9)"},
      {"[\"\xC3\xA9\", x]", "Expecting value: line 1 column 8 (char 7)"},
      // Objects
      {"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
      {"{'a':1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
      {"{1:2}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
      {R"({"a":1,})",
       "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"},
      {R"({"a")", "Expecting ':' delimiter: line 1 column 5 (char 4)"},
      {R"({"a" 1})", "Expecting ':' delimiter: line 1 column 6 (char 5)"},
      {R"({"a":)", "Expecting value: line 1 column 6 (char 5)"},
      {R"({"a":})", "Expecting value: line 1 column 6 (char 5)"},
      {R"({"a":1)", "Expecting ',' delimiter: line 1 column 7 (char 6)"},
      {R"({"a":1])", "Expecting ',' delimiter: line 1 column 7 (char 6)"},
      {R"({"a":1 "b":2})", "Expecting ',' delimiter: line 1 column 8 (char 7)"},
      {R"({"a":1,)", "Syntax error near: line 1 column 8 (char 7)"},
      // Strings
      {R"("a)", "Unterminated string starting at: line 1 column 1 (char 0)"},
      {R"([1,"a\n)", "Unterminated string starting at: line 1 column 4 (char 3)"},
      {"\"a\tb\"", "Invalid control character at: line 1 column 3 (char 2)"},
      {"\"a\0b\""sv, "Invalid control character at: line 1 column 3 (char 2)"},
      {R"("\q")", "Invalid \\escape: line 1 column 3 (char 2)"},
      {R"("\U0041")", "Invalid \\escape: line 1 column 3 (char 2)"},
      {R"("a\)", "Invalid \\escape: line 1 column 4 (char 3)"},
      {"\"\\\0"sv, "Invalid \\escape: line 1 column 3 (char 2)"},
      {R"("\u)", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {R"("\u12")", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {R"("\u+123")", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {R"("\u00g0")", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {R"("\ud83d")", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 3 (char 2)"},
      {R"("\ud83d)", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 3 (char 2)"},
      {R"("\ude00")", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 3 (char 2)"},
      {R"("\ud83d\n")", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 3 (char 2)"},
      {R"("\ud83d\)", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 3 (char 2)"},
      {R"("\ud83d\u0041")", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 10 (char 9)"},
      {R"("\ud83d\ud83d")", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 10 (char 9)"},
      {R"("\ud83d\ude0)", "Invalid \\uXXXX escape: line 1 column 10 (char 9)"},
  };
  for (const Case& c : cases) {
    CHECK_EQ(ParseError(c.text), std::string("ValueError: ") + c.error);
  }
}

TEST_CASE("an error message can replace the exception") {
  String message = "from before";
  CHECK(json::Parse("[1", &message) == nullptr);
  CHECK(message == "Expecting ',' delimiter: line 1 column 3 (char 2)");
  CHECK_EQ(json::Parse("[1]", &message).as_or_throw<json::Array>().size(), 1u);
  CHECK(message.empty());
}

TEST_CASE("every proper prefix is malformed") {
  std::string text = R"([{"key":[null,true,-1.5e-3,"\ud83d\ude00\n"],"":{}},[]])";
  CHECK_EQ(ParseError(text), "");
  for (size_t size = 0; size < text.size(); ++size) {
    // Parses the text in a buffer of exactly this size, so that a sanitizer detects a read past the
    // end.
    std::string prefix(text, 0, size);
    CHECK(ParseError(prefix).rfind("ValueError: ", 0) == 0);
  }
}

}  // namespace
