// SPDX-License-Identifier: Apache-2.0
// Part of string.h: JSON and Python string literals.
//
// The functions are templates, so that only files that use them instantiate them.
#ifndef TVM_FFI_STRING_ESCAPE_DETAIL_H_
#define TVM_FFI_STRING_ESCAPE_DETAIL_H_

#include <tvm/ffi/string.h>

namespace tvm {
namespace ffi {
namespace detail {

// Appends `prefix` and `width` lower-case hexadecimal digits of `value`.
inline void AppendHex(std::string* out, const char* prefix, uint32_t value, int width) {
  *out += prefix;
  for (int shift = (width - 1) * 4; shift >= 0; shift -= 4) {
    *out += "0123456789abcdef"[(value >> shift) & 15];
  }
}

// Returns the length of the well-formed UTF-8 sequence at the start of `text`, or 0 if it is
// malformed; *code_point receives the code point.
inline size_t DecodeUtf8(std::string_view text, uint32_t* code_point) {
  uint32_t lead = static_cast<unsigned char>(text[0]);
  size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 0 || lead > 0xF4 || length > text.size()) return 0;
  *code_point = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    uint32_t byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return 0;
    *code_point = (*code_point << 6) | (byte & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = *code_point >= 0xD800 && *code_point <= 0xDFFF;
  return *code_point < kSmallest[length] || *code_point > 0x10FFFF || surrogate ? 0 : length;
}

// Returns the length of the ANSI colour sequence at the start of `text`, or 0 if `text` does not
// start with one.
inline size_t AnsiSequenceLength(std::string_view text) {
  if (text.size() < 3 || text[0] != '\x1b' || text[1] != '[') return 0;
  size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && (text[end] == 'm' || text[end] == 'K') ? end + 1 : 0;
}

// Appends `text` as a JSON string literal.
template <typename Text>
TVM_FFI_HIDDEN_ void AppendEscapedJSON(std::string_view text, Text* out) {
  *out += '"';
  size_t written = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    constexpr std::string_view kFrom = "\"\\/\b\f\n\r\t";
    unsigned char byte = static_cast<unsigned char>(text[i]);
    if (byte > '\\' && byte != 0x7f) continue;
    size_t found = kFrom.find(text[i]);
    if (found == std::string_view::npos && byte >= 0x20 && byte != 0x7f) continue;
    out->append(text.data() + written, i - written);
    written = i + 1;
    if (found != std::string_view::npos) {
      *out += '\\';
      *out += "\"\\/bfnrt"[found];
    } else {
      AppendHex(out, "\\u", byte, 4);
    }
  }
  out->append(text.data() + written, text.size() - written);
  *out += '"';
}

}  // namespace detail

// Returns text as a JSON string literal.  `/` is escaped; bytes from 0x80 on are unchanged.
template <typename Text = String>
TVM_FFI_FAILURE_ String EscapeStringJSON(const Text& text) {
  const String& value = text;
  std::string out;
  detail::AppendEscapedJSON(detail::ViewOf(value), &out);
  return String(out);
}

// Same as EscapeStringJSON, under its former name.
template <typename Text = String>
String EscapeString(const Text& value) {
  return EscapeStringJSON(value);
}

// Returns text as an ASCII Python string literal.  Bytes of malformed UTF-8 become \xNN.
template <typename Text = String>
TVM_FFI_FAILURE_ String EscapedStringPy(const Text& text) {
  const String& value = text;
  std::string out = "\"";
  std::string_view rest = detail::ViewOf(value);
  while (!rest.empty()) {
    constexpr std::string_view kFrom = "\n\t\r\\\"";
    uint32_t code_point = 0;
    size_t length = detail::DecodeUtf8(rest, &code_point);
    size_t found = kFrom.find(rest[0]);
    if (size_t ansi = detail::AnsiSequenceLength(rest)) {
      length = ansi;
      out += "\\x1b";
      out.append(rest.data() + 1, ansi - 1);
    } else if (found != std::string_view::npos) {
      out += '\\';
      out += "ntr\\\""[found];
    } else if (length == 0 || code_point < 0x20 || code_point == 0x7f) {
      length = 1;
      detail::AppendHex(&out, "\\x", static_cast<unsigned char>(rest[0]), 2);
    } else if (length == 1) {
      out += rest[0];
    } else if (code_point < 0x10000) {
      detail::AppendHex(&out, "\\u", code_point, 4);
    } else {
      detail::AppendHex(&out, "\\U", code_point, 8);
    }
    rest.remove_prefix(length);
  }
  out += '"';
  return String(out);
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_STRING_ESCAPE_DETAIL_H_
