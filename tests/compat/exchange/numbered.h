// SPDX-License-Identifier: Apache-2.0
// Keys and values computed from numbers: turns the numbers of a script or a model into an Any.
#ifndef TVM_FFI_TESTS_COMPAT_EXCHANGE_NUMBERED_H_
#define TVM_FFI_TESTS_COMPAT_EXCHANGE_NUMBERED_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>

#include <string>

namespace exchange {

// A string whose content is on the heap, even if it would fit into the 16-byte value.
inline tvm::ffi::String OnHeap(std::string text) { return tvm::ffi::String(std::move(text)); }

inline tvm::ffi::Any IntKey(int64_t number) {
  int64_t spread = number * 1000003;
  return number % 3 == 0 ? number : number % 3 == 1 ? spread : -spread;
}

// Short and long strings; `alternative` returns the same string in the other storage form (inline
// or heap).
inline tvm::ffi::Any TextKey(int64_t number, bool alternative) {
  std::string digits = std::to_string(number);
  std::string text = number % 3 == 0   ? digits
                     : number % 3 == 1 ? "long key number " + digits
                                       : std::string(8 - digits.size() % 8, '_') + digits;
  bool on_heap = (number % 2 == 0) != alternative;
  return on_heap ? OnHeap(text) : tvm::ffi::String(text);
}

inline tvm::ffi::Any MixedKey(int64_t number, bool alternative) {
  if (number == 0) return nullptr;
  if (number <= 2) return number == 1;
  switch (number % 6) {
    case 0:
      return IntKey(number);
    case 1:
      return static_cast<double>(number) * 0.5;
    case 2:
      return TextKey(number, alternative);
    case 3:
      return tvm::ffi::Bytes("bytes " + std::to_string(number));
    case 4:
      return DLDataType{kDLFloat, 32, static_cast<uint16_t>(number)};
    default:
      return DLDevice{kDLCUDA, static_cast<int32_t>(number)};
  }
}

// `kind` is "int", "text" or "mixed".
inline tvm::ffi::Any KeyOf(const tvm::ffi::String& kind, int64_t number, bool alternative = false) {
  if (kind == "int") return IntKey(number);
  return kind == "text" ? TextKey(number, alternative) : MixedKey(number, alternative);
}

inline tvm::ffi::Any ValueOf(int64_t number) {
  switch (number % 4) {
    case 0:
      return number;
    case 1:
      return tvm::ffi::String(std::to_string(number));
    case 2:
      return tvm::ffi::String("a value of some length, " + std::to_string(number));
    default:
      return tvm::ffi::Array<int64_t>{number, number + 1};
  }
}

inline bool IsValueOf(const tvm::ffi::Any& value, int64_t number) {
  if (number % 4 != 3) return tvm::ffi::AnyEqual()(value, ValueOf(number));
  std::optional<tvm::ffi::Array<int64_t>> array = value.as<tvm::ffi::Array<int64_t>>();
  return array.has_value() && array->size() == 2 && (*array)[0] == number &&
         (*array)[1] == number + 1;
}

}  // namespace exchange

#endif  // TVM_FFI_TESTS_COMPAT_EXCHANGE_NUMBERED_H_
