// SPDX-License-Identifier: Apache-2.0
// Checks inside the exchange libraries: failure.cc throws the failures, so that they reach the
// caller in the other library.
#ifndef TVM_FFI_TESTS_COMPAT_EXCHANGE_CHECK_H_
#define TVM_FFI_TESTS_COMPAT_EXCHANGE_CHECK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace check {

[[noreturn]] void Fail(const char* file, int line, const std::string& text);

template <typename T>
std::string Show(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return "\"" + std::string(std::string_view(value)) + "\"";
  } else if constexpr (std::is_convertible_v<T, std::string>) {
    return "\"" + static_cast<std::string>(value) + "\"";
  } else if constexpr (std::is_null_pointer_v<T>) {
    return "NULL";
  } else {
    return "address " + std::to_string(reinterpret_cast<uintptr_t>(value));
  }
}

// Compares integers by value, whatever their signs and widths, and strings by content.
template <typename A, typename B>
bool Equal(const A& a, const B& b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    bool signs_differ = (a < A{}) != (b < B{});
    return !signs_differ && static_cast<uint64_t>(a) == static_cast<uint64_t>(b);
  } else if constexpr (std::is_convertible_v<A, std::string_view> &&
                       std::is_convertible_v<B, std::string_view>) {
    return std::string_view(a) == std::string_view(b);
  } else {
    return a == b;
  }
}

template <typename A, typename B>
void CheckEqual(const char* file, int line, const char* text, const A& actual, const B& expected) {
  if (Equal(actual, expected)) return;
  Fail(file, line, std::string(text) + " is " + Show(actual) + ", expected " + Show(expected));
}

}  // namespace check

#define CHECK(condition) \
  ((condition) ? void() : check::Fail(__FILE__, __LINE__, "is false: " #condition))

#define CHECK_EQ(actual, expected) \
  check::CheckEqual(__FILE__, __LINE__, #actual, (actual), (expected))

#endif  // TVM_FFI_TESTS_COMPAT_EXCHANGE_CHECK_H_
