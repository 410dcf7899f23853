// SPDX-License-Identifier: Apache-2.0
// JSON numbers: parser and printer.
#include "json/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "../platform/platform.h"

namespace tvm::ffi::extra {
namespace {

// Returns the index of the first character from `begin` on that is not a digit.
size_t SkipDigits(std::string_view text, size_t begin) {
  while (begin < text.size() && text[begin] >= '0' && text[begin] <= '9') ++begin;
  return std::min(begin, text.size());
}

// Returns true if a number outside the range of double is too large, false if it is too close to 0.
//
// text  the number without a sign
bool IsAboveOne(std::string_view text) {
  size_t mark = text.find_first_of("eE");
  std::string_view mantissa = text.substr(0, mark);
  int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view digits = text.substr(mark + (text[mark + 1] == '+' ? 2 : 1));
    std::errc code = std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec;
    // If the exponent does not fit int64, its sign alone decides, because no text in memory has
    // enough digits to compensate for the exponent.
    if (code != std::errc()) return digits[0] != '-';
  }
  auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  auto first = static_cast<int64_t>(mantissa.find_first_of("123456789"));
  // The distance of the first significant digit from the point; positive to the left of the point.
  int64_t digit_position = first < point ? point - first : point + 1 - first;
  return exponent > -digit_position;
}

JsonNumberError ParseDouble(std::string_view text, Any* value) {
  double number = 0;
  if (!platform::ParseDouble(text, &number)) {
    bool negative = text[0] == '-';
    if (IsAboveOne(text.substr(negative ? 1 : 0))) return JsonNumberError::kTooLarge;
    number = negative ? -0.0 : 0.0;
  }
  *value = number;
  return JsonNumberError::kNone;
}

}  // namespace

size_t JsonNumberLength(std::string_view text) {
  size_t begin = !text.empty() && text[0] == '-' ? 1 : 0;
  size_t end = SkipDigits(text, begin);
  if (end == begin) return 0;
  if (text[begin] == '0') end = begin + 1;  // no digit may follow a leading zero
  if (end < text.size() && text[end] == '.') {
    size_t fraction = SkipDigits(text, end + 1);
    if (fraction == end + 1) return end;
    end = fraction;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    bool has_sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-');
    size_t first = end + (has_sign ? 2 : 1);
    size_t exponent = SkipDigits(text, first);
    if (exponent > first) end = exponent;
  }
  return end;
}

JsonNumberError ParseJsonNumber(std::string_view text, Any* value) {
  if (text.find_first_not_of("-0123456789") == std::string_view::npos) {
    int64_t number = 0;
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, number).ec == std::errc()) {
      *value = number;
      return JsonNumberError::kNone;
    }
  }
  return ParseDouble(text, value);
}

void AppendJsonNumber(int64_t value, std::string* out) {
  char text[24];
  out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

void AppendJsonNumber(double value, std::string* out) {
  if (std::isnan(value)) {
    *out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    *out += value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  char text[32];
  std::string_view digits(text, platform::PrintDouble(value, 17, text));
  *out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) *out += ".0";
}

}  // namespace tvm::ffi::extra
