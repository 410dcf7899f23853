// SPDX-License-Identifier: Apache-2.0
// Base64 encoding with padding, defined by RFC 4648 section 4.
#ifndef TVM_FFI_EXTRA_BASE64_H_
#define TVM_FFI_EXTRA_BASE64_H_

#include <tvm/ffi/string.h>

namespace tvm {
namespace ffi {

// Return bytes as base64 text with padding.
inline String Base64Encode(TVMFFIByteArray bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size; i += 3) {
    size_t count = bytes.size - i < 3 ? bytes.size - i : 3;
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes.data[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return String(text);
}
inline String Base64Encode(const Bytes& data) {
  return Base64Encode(TVMFFIByteArray{data.data(), data.size()});
}

namespace detail {
// Returns the value (0 to 63) of a base64 digit, and 0 for every other character.  The decoder does
// not validate its input, because existing callers rely on that.
inline uint32_t Base64DigitValue(char digit) {
  if (digit >= 'A' && digit <= 'Z') return static_cast<uint32_t>(digit - 'A');
  if (digit >= 'a' && digit <= 'z') return static_cast<uint32_t>(digit - 'a') + 26;
  if (digit >= '0' && digit <= '9') return static_cast<uint32_t>(digit - '0') + 52;
  return digit == '+' ? 62 : (digit == '/' ? 63 : 0);
}
}  // namespace detail

// Return the bytes of a base64 text with padding.  Fails: InternalError if the length is not a
// multiple of 4.
inline Bytes Base64Decode(TVMFFIByteArray text) {
  TVM_FFI_ICHECK_EQ(text.size % 4, 0) << "expected base64 text whose length is a multiple of 4";
  std::string bytes;
  bytes.reserve(text.size / 4 * 3);
  for (size_t i = 0; i < text.size; i += 4) {
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k) {
      group = group << 6 | detail::Base64DigitValue(text.data[i + k]);
    }
    bytes += static_cast<char>(group >> 16 & 255);
    if (text.data[i + 2] != '=') bytes += static_cast<char>(group >> 8 & 255);
    if (text.data[i + 3] != '=') bytes += static_cast<char>(group & 255);
  }
  return Bytes(bytes);
}
inline Bytes Base64Decode(const String& text) {
  return Base64Decode(TVMFFIByteArray{text.data(), text.size()});
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_BASE64_H_
