// SPDX-License-Identifier: Apache-2.0
// DLDataType: conversion, comparison and names such as `float32`.
#ifndef TVM_FFI_DTYPE_H_
#define TVM_FFI_DTYPE_H_

#include <tvm/ffi/function.h>

// Returns true if code, bits and lanes of two dtypes are equal.
inline bool operator==(const DLDataType& lhs, const DLDataType& rhs) {
  return lhs.code == rhs.code && lhs.bits == rhs.bits && lhs.lanes == rhs.lanes;
}
// Returns true if code, bits or lanes of two dtypes differ.
inline bool operator!=(const DLDataType& lhs, const DLDataType& rhs) { return !(lhs == rhs); }

namespace tvm {
namespace ffi {

// Dtype codes from kDLExtCustomBegin on are reserved for custom dtypes of user code.
enum DLExtDataTypeCode { kDLExtCustomBegin = 129 };

// Parses the name of a dtype, such as `float32` or `int8x4`.  Throws ValueError for other strings.
inline DLDataType StringToDLDataType(const String& str) {
  TVMFFIByteArray text{str.data(), str.size()};
  DLDataType dtype;
  detail::CheckSafeCall(TVMFFIDataTypeFromString(&text, &dtype));
  return dtype;
}

// Returns the name of a dtype.  Throws ValueError for a code without a name.
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline String DLDataTypeToString(DLDataType dtype) {
  TVMFFIAny text;
  detail::CheckSafeCall(TVMFFIDataTypeToString(&dtype, &text));
  return TypeTraits<String>::MoveFromAnyAfterCheck(&text);
}

// Returns true if the elements are floating-point numbers, including the 4-bit, 6-bit and 8-bit
// formats.
inline bool DTypeIsFloat(DLDataType dtype) {
  return dtype.code == kDLFloat || dtype.code == kDLBfloat ||
         (dtype.code >= kDLFloat8_e3m4 && dtype.code <= kDLFloat4_e2m1fn);
}
// Returns true if the elements are signed or unsigned integers.
inline bool DTypeIsInt(DLDataType dtype) { return dtype.code == kDLInt || dtype.code == kDLUInt; }
// Returns true if the elements are booleans.
inline bool DTypeIsBool(DLDataType dtype) { return dtype.code == kDLBool; }

namespace detail {

inline MessageStream& operator<<(MessageStream& out, DLDataType dtype) {
  return out << DLDataTypeToString(dtype);
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowUnknownTypeCode(int code) {
  MessageStream text;
  text << "DLDataType contains unknown type_code=" << code;
  ThrowError("ValueError", text);
}

// Returns the name of a dtype code, such as `float` for kDLFloat; throws ValueError for an unknown
// code.  ORDER dtype-code
TVM_FFI_COLD_CODE inline const char* DLDataTypeCodeAsCStr(uint8_t code) {
  constexpr const char* kNames[] = {"int",
                                    "uint",
                                    "float",
                                    "handle",
                                    "bfloat",
                                    "complex",
                                    "bool",
                                    "float8_e3m4",
                                    "float8_e4m3",
                                    "float8_e4m3b11fnuz",
                                    "float8_e4m3fn",
                                    "float8_e4m3fnuz",
                                    "float8_e5m2",
                                    "float8_e5m2fnuz",
                                    "float8_e8m0fnu",
                                    "float6_e2m3fn",
                                    "float6_e3m2fn",
                                    "float4_e2m1fn"};
  if (code >= sizeof(kNames) / sizeof(kNames[0])) ThrowUnknownTypeCode(code);
  return kNames[code];
}

}  // namespace detail

// Returns a short dtype name for generated identifiers: i32, u8, f16x4, bf16, bool, f8_e4m3fn,
// void, handle.
template <typename Text = std::string>
TVM_FFI_FAILURE_ Text DTypeAbbrev(DLDataType dtype) {
  int lanes = static_cast<int16_t>(dtype.lanes);
  if (dtype.code == kDLOpaqueHandle && dtype.bits == 0 && lanes == 0) return "void";
  std::string name = detail::DLDataTypeCodeAsCStr(dtype.code);
  if (dtype.code == kDLInt || dtype.code == kDLUInt || dtype.code == kDLFloat) {
    name = name[0] + std::to_string(dtype.bits);
  } else if (dtype.code == kDLBfloat) {
    name = "bf" + std::to_string(dtype.bits);
  } else if (dtype.code == kDLComplex) {
    name = "c" + std::to_string(dtype.bits);
  } else if (name.compare(0, 5, "float") == 0) {
    name = "f" + name.substr(5);
  }
  if (dtype.code == kDLOpaqueHandle || lanes == 1) return name;
  return lanes < 0 ? name + "xvscalex" + std::to_string(-lanes)
                   : name + "x" + std::to_string(lanes);
}

namespace detail {
template <typename T>
struct DataTypeTraits : PlainValueTraits<DataTypeTraits<T>, T> {
  using Base = PlainValueTraits<DataTypeTraits<T>, T>;
  static constexpr int32_t field_static_type_index = kTVMFFIDataType;
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    SetIntPayload(result, kTVMFFIDataType, 0);
    result->v_dtype = src;
  }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny* src) { return src->v_dtype; }
  // Converts a dtype, or a string with the name of a dtype.  Throws ValueError for other strings.
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    if (Base::CheckAnyStrict(src)) return src->v_dtype;
    // The type `Text` depends on T, so that only files that convert a dtype instantiate the string
    // traits.
    using Text = std::enable_if_t<(sizeof(T) > 0), std::string>;
    std::optional<Text> text = TypeTraits<Text>::TryCastFromAnyView(src);
    if (!text.has_value()) return std::nullopt;
    return StringToDLDataType(*text);
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIDataType; }
};
}  // namespace detail
template <>
struct TypeTraits<DLDataType> : detail::DataTypeTraits<DLDataType> {};

}  // namespace ffi
}  // namespace tvm

// Writes the name of a dtype, such as `float32`.  The operator is a template, so that only callers
// need <ostream>.
template <typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const DLDataType& dtype) {
  return out << ::tvm::ffi::DLDataTypeToString(dtype);
}

#endif  // TVM_FFI_DTYPE_H_
