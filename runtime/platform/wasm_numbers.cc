// SPDX-License-Identifier: Apache-2.0
// Text of floating-point numbers on WebAssembly: libc++ before release 20 cannot parse them.  The C
// library is musl, which rounds correctly and uses a point in all locales.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "platform.h"

namespace tvm::ffi::platform {

bool ParseDouble(std::string_view text, double* value) {
  *value = std::strtod(std::string(text).c_str(), nullptr);
  bool has_digit =
      text.substr(0, text.find_first_of("eE")).find_first_of("123456789") != std::string_view::npos;
  return !std::isinf(*value) && (*value != 0 || !has_digit);
}

size_t PrintDouble(double value, int digits, char* out) noexcept {
  char text[33];
  int size = std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return std::string_view(text, static_cast<size_t>(size)).copy(out, 32);
}

}  // namespace tvm::ffi::platform
