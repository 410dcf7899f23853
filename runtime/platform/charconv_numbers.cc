// SPDX-License-Identifier: Apache-2.0
// Text of floating-point numbers, with the std::from_chars and std::to_chars of the C++ library.
#include <charconv>

#include "platform.h"

namespace tvm::ffi::platform {

bool ParseDouble(std::string_view text, double* value) {
  return std::from_chars(text.data(), text.data() + text.size(), *value).ec == std::errc();
}

size_t PrintDouble(double value, int digits, char* out) noexcept {
  auto end = std::to_chars(out, out + 32, value, std::chars_format::general, digits).ptr;
  return static_cast<size_t>(end - out);
}

}  // namespace tvm::ffi::platform
