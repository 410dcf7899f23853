// SPDX-License-Identifier: Apache-2.0
// Strings at the C ABI: borrowed views of byte arrays, and Concat for messages.
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

// Returns a byte array that is borrowed from the text.
inline TVMFFIByteArray BorrowBytes(std::string_view text) {
  TVMFFIByteArray bytes;
  bytes.data = text.data();
  bytes.size = text.size();
  return bytes;
}

namespace detail {

template <typename T>
void AppendTo(std::string& out, const T& piece) {
  if constexpr (std::is_arithmetic_v<T>) {
    out += std::to_string(piece);
  } else {
    out += std::string_view(piece);
  }
}

}  // namespace detail

// Returns the concatenation of strings and numbers.
template <typename... Pieces>
std::string Concat(const Pieces&... pieces) {
  std::string out;
  (detail::AppendTo(out, pieces), ...);
  return out;
}

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_TEXT_H_
