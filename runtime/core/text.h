// SPDX-License-Identifier: Apache-2.0
// Text in and out of the C ABI: borrowed views of byte arrays, and message building.
#ifndef TVM_FFI_RUNTIME_CORE_TEXT_H_
#define TVM_FFI_RUNTIME_CORE_TEXT_H_

#include <tvm/ffi/c_api.h>

#include <string>
#include <string_view>
#include <type_traits>

namespace tvm::ffi::runtime {

inline std::string_view View(const TVMFFIByteArray& bytes) {
  return bytes.size == 0 ? std::string_view() : std::string_view(bytes.data, bytes.size);
}

// Lends the text; the array is valid while the text is.
inline TVMFFIByteArray Lend(std::string_view text) {
  TVMFFIByteArray bytes;
  bytes.data = text.data();
  bytes.size = text.size();
  return bytes;
}

namespace detail {

template <typename T>
void AppendTo(std::string& out, const T& part) {
  if constexpr (std::is_arithmetic_v<T>) {
    out += std::to_string(part);
  } else {
    out += std::string_view(part);
  }
}

}  // namespace detail

// Concatenates text and numbers.
template <typename... Parts>
std::string Concat(const Parts&... parts) {
  std::string out;
  (detail::AppendTo(out, parts), ...);
  return out;
}

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_TEXT_H_
