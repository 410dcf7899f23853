// SPDX-License-Identifier: Apache-2.0
#include "utf8.h"

#include <cstdint>
#include <string>

#include "error.h"

namespace tvm::ffi::runtime {
namespace {

// Returns the length of the well-formed sequence at the start of `text`, or 0 if it is malformed.
size_t SequenceLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // The limits exclude sequences that are longer than necessary, surrogates, and code points beyond
  // U+10FFFF.
  unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return byte(1) >= least && byte(1) <= most ? length : 0;
}

// Returns the name as ASCII text, with other bytes as \xNN.
std::string Escaped(std::string_view name) {
  std::string out;
  for (char c : name) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else {
      out += {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    }
  }
  return out;
}

}  // namespace

void CheckNameIsUtf8(const char* kind, std::string_view name) {
  for (size_t i = 0; i < name.size();) {
    size_t length = SequenceLength(name.substr(i));
    if (length == 0) {
      Raise("ValueError", kind, " `", Escaped(name), "`: expected a name in UTF-8, got byte ", i,
            " that does not begin a UTF-8 sequence");
    }
    i += length;
  }
}

}  // namespace tvm::ffi::runtime
