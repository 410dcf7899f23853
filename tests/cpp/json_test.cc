// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/function.h>

#include <clocale>
#include <cstring>
#include <limits>
#include <locale>

#include "thrown.h"

// Optional<int> and Stringify as the headers of 0.1.11 and 0.1.12 declare them.
namespace old_headers {

class OptionalInt {
 public:
  OptionalInt() : value_(0), has_value_(false) {}
  OptionalInt(int value) : value_(value), has_value_(true) {}  // NOLINT(*)
  OptionalInt(const OptionalInt& other) : value_(other.value_), has_value_(other.has_value_) {}

 private:
  int value_;
  bool has_value_;
};
static_assert(sizeof(OptionalInt) == 8, "the shape of those headers");

tvm::ffi::String Stringify(const tvm::Any& value, OptionalInt indent) __asm__(
    "_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8OptionalIivEE");

}  // namespace old_headers

namespace {

using namespace tvm::ffi;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string TextOf(const Any& value, const Optional<int>& indent = std::nullopt) {
  return json::Stringify(value, indent);
}

std::string ParseError(std::string_view text) {
  return Thrown([&] { json::Parse(String(text.data(), text.size())); });
}

// Distinguishes 0.0 from -0.0.
bool IsFloat(const Any& value, double expected) {
  if (value.type_index() != kTVMFFIFloat) return false;
  double actual = value.cast<double>();
  return std::memcmp(&actual, &expected, sizeof(double)) == 0;
}

TEST_CASE("many elements") {
  std::string text = "[";
  for (int i = 0; i < 10000; ++i) text += std::to_string(i) + ",";
  text.back() = ']';
  json::Array array = json::Parse(String(text)).as_or_throw<json::Array>();
  CHECK_EQ(array.size(), 10000u);
  CHECK_EQ(TextOf(array), text);
}

TEST_CASE("text of scalars") {
  CHECK_EQ(TextOf(Any()), "null");
  CHECK_EQ(TextOf(true), "true");
  CHECK_EQ(TextOf(false), "false");
  CHECK_EQ(TextOf(0), "0");
  CHECK_EQ(TextOf(INT64_MIN), "-9223372036854775808");
  CHECK_EQ(TextOf(INT64_MAX), "9223372036854775807");
  CHECK_EQ(TextOf("a literal"), "\"a literal\"");
}

TEST_CASE("text of floats") {
  struct Case {
    double value;
    const char* text;
  };
  const Case cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-1.0, "-1.0"},
      {0.5, "0.5"},
      {100000.5, "100000.5"},
      {0.1, "0.10000000000000001"},
      {1e-4, "0.0001"},
      {1e-5, "1.0000000000000001e-05"},
      {1e-7, "9.9999999999999995e-08"},
      {123456789012345.0, "123456789012345.0"},
      {9007199254740991.0, "9007199254740991.0"},
      {9007199254740992.0, "9007199254740992.0"},
      {12345678901234568.0, "12345678901234568.0"},
      {1e16, "10000000000000000.0"},
      {1e17, "1e+17"},
      {1e20, "1e+20"},
      {1e100, "1e+100"},
      {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
      {std::numeric_limits<double>::denorm_min(), "4.9406564584124654e-324"},
      {kInfinity, "Infinity"},
      {-kInfinity, "-Infinity"},
      {std::numeric_limits<double>::quiet_NaN(), "NaN"},
      {-std::numeric_limits<double>::quiet_NaN(), "NaN"},
  };
  for (const Case& c : cases) CHECK_EQ(TextOf(c.value), c.text);
}

TEST_CASE("floats survive a round trip") {
  // Every exponent, each with a different bit pattern of the digits.
  uint64_t digits = 0x9E3779B97F4A7C15;
  for (uint64_t exponent = 0; exponent < 0x7FF; ++exponent) {
    digits = digits * 6364136223846793005ULL + 1442695040888963407ULL;
    uint64_t bits = (digits & 0x800FFFFFFFFFFFFF) | exponent << 52;
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    CHECK_MESSAGE(IsFloat(json::Parse(json::Stringify(value)), value), TextOf(value));
  }
}

TEST_CASE("text of strings") {
  CHECK_EQ(TextOf(""), R"("")");
  CHECK_EQ(TextOf("\"\\/\b\f\n\r\t"), R"("\"\\\/\b\f\n\r\t")");
  CHECK_EQ(TextOf(String("\0\x01\x1f\x7f", 4)), R"("\u0000\u0001\u001f\u007f")");
  CHECK_EQ(TextOf("long enough for the heap \xC3\xA9\xF0\x9F\x98\x80 \x01"),
           "\"long enough for the heap \xC3\xA9\xF0\x9F\x98\x80 \\u0001\"");
  CHECK_EQ(TextOf("\xff"), "\"\xff\"");
  // A short string on the heap; also as a key.
  String heap(std::string("ab"));
  CHECK_EQ(TextOf(heap), R"("ab")");
  CHECK_EQ(TextOf(json::Object{{heap, heap}}), R"({"ab":"ab"})");
}

json::Object Sample() {
  return json::Object{{"a", json::Array{1, json::Array{}, List<Any>{json::Object{}, "x"}}},
                      {"b", json::Object{{"c", nullptr}}}};
}

TEST_CASE("text of containers") {
  CHECK_EQ(TextOf(json::Array{}), "[]");
  CHECK_EQ(TextOf(json::Object{}), "{}");
  CHECK_EQ(TextOf(List<Any>{1, List<Any>{}}), "[1,[]]");
  CHECK_EQ(TextOf(Sample()), R"({"a":[1,[],[{},"x"]],"b":{"c":null}})");
  CHECK_EQ(TextOf(Sample(), 0), R"({"a":[1,[],[{},"x"]],"b":{"c":null}})");
}

TEST_CASE("indentation") {
  CHECK_EQ(TextOf(Sample(), 2), R"({
  "a": [
    1,
    [
    ],
    [
      {
      },
      "x"
    ]
  ],
  "b": {
    "c": null
  }
})");
  CHECK_EQ(TextOf(json::Array{1, json::Array{2}}, 3), "[\n   1,\n   [\n      2\n   ]\n]");
  CHECK_EQ(TextOf(json::Array{1, json::Array{2}}, -1), "[\n1,\n[\n2\n]\n]");
  CHECK_EQ(TextOf(7, 4), "7");
}

TEST_CASE("values without a JSON form are errors") {
  auto error = [](const Any& value) { return Thrown([&] { json::Stringify(value); }); };
  CHECK_EQ(error(Bytes("ab", 2)),
           "ValueError: cannot write a value of type `ffi.SmallBytes` as JSON");
  CHECK_EQ(error(Bytes("0123456789", 10)),
           "ValueError: cannot write a value of type `ffi.Bytes` as JSON");
  CHECK_EQ(error(Shape({1, 2})), "ValueError: cannot write a value of type `ffi.Shape` as JSON");
  CHECK_EQ(error(DLDevice{kDLCPU, 0}), "ValueError: cannot write a value of type `Device` as JSON");
  CHECK_EQ(error(Dict<Any, Any>{}), "ValueError: cannot write a value of type `ffi.Dict` as JSON");
  CHECK_EQ(error(json::Array{1, Function::FromTyped([] {})}),
           "ValueError: cannot write a value of type `ffi.Function` as JSON");
  CHECK_EQ(error(json::Object{{1, 2}}),
           "ValueError: cannot write a map as JSON: expected string keys, got `int`");
  CHECK_EQ(error(json::Object{{nullptr, 2}}),
           "ValueError: cannot write a map as JSON: expected string keys, got `None`");
  CHECK_EQ(error(json::Object{{Bytes("a", 1), 2}}),
           "ValueError: cannot write a map as JSON: expected string keys, got `ffi.SmallBytes`");
}

TEST_CASE("a list that contains itself is an error") {
  List<Any> outer;
  List<Any> inner{json::Array{outer}};
  outer.push_back(1);
  outer.push_back(inner);
  CHECK_EQ(Thrown([&] { json::Stringify(outer); }),
           "ValueError: Cycle detected: a List contains itself");
  outer.clear();
  // The same list twice is not a cycle.
  outer.push_back(7);
  CHECK_EQ(TextOf(json::Array{outer, outer}), "[[7],[7]]");
  inner.clear();
}

TEST_CASE("clients of 0.1.12 pass the indent by value") {
  json::Array array{1, "x"};
  CHECK_EQ(std::string(old_headers::Stringify(array, {})), R"([1,"x"])");
  CHECK_EQ(std::string(old_headers::Stringify(array, 2)), "[\n  1,\n  \"x\"\n]");
  CHECK_EQ(std::string(old_headers::Stringify(array, 0)), R"([1,"x"])");
  CHECK_EQ(Thrown([] { old_headers::Stringify(json::Object{{1, 2}}, {}); }),
           "ValueError: cannot write a map as JSON: expected string keys, got `int`");
}

struct CommaPunct : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_CASE("the locale does not matter") {
  std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaPunct));
  // If a locale with a decimal comma is installed.
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
  }
  CHECK_EQ(TextOf(json::Parse("[1234567,1234567.5,1e-7]")),
           "[1234567,1234567.5,9.9999999999999995e-08]");
  CHECK_EQ(ParseError("1,5"), "ValueError: Extra data: line 1 column 2 (char 1)");
  std::setlocale(LC_NUMERIC, "C");
  std::locale::global(before);
}

}  // namespace
