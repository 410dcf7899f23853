// SPDX-License-Identifier: Apache-2.0
// Mangled names of the Itanium C++ ABI.
#include <cxxabi.h>

#include <cstdlib>

#include "platform.h"

namespace tvm::ffi::platform {

std::string Demangle(const char* symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : symbol;
  std::free(text);
  return name;
}

}  // namespace tvm::ffi::platform
