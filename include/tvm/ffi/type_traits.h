// SPDX-License-Identifier: Apache-2.0
// TypeTraits<T>: conversion between C++ types and the 16-byte TVMFFIAny.
//
// A traits class states whether a type can be converted (convert_enabled) and whether an owned Any
// can store it (storage_enabled).  "Strict" checks accept only values that are a T already; TryCast
// also converts.  Users specialize TypeTraits for their types.  This header defines the traits of
// std::nullptr_t, numbers and void*.
//
// Traits of a single type derive from a class template, because the members of a template cost
// compile time only in files that use them.
#ifndef TVM_FFI_TYPE_TRAITS_H_
#define TVM_FFI_TYPE_TRAITS_H_

#include <tvm/ffi/base_detail.h>

#include <optional>
#include <string>
#include <string_view>

namespace tvm {
namespace ffi {

class Any;
class AnyView;

// C++ name of the C enum TVMFFITypeIndex.
using TypeIndex = TVMFFITypeIndex;
// C++ name of the C struct TVMFFITypeInfo.
using TypeInfo = TVMFFITypeInfo;

// Type keys of the built-in types.  ORDER type-index
struct StaticTypeKey {
  static constexpr const char* kTVMFFIAny = "Any";
  static constexpr const char* kTVMFFINone = "None";
  static constexpr const char* kTVMFFIBool = "bool";
  static constexpr const char* kTVMFFIInt = "int";
  static constexpr const char* kTVMFFIFloat = "float";
  static constexpr const char* kTVMFFIOpaquePtr = "void*";
  static constexpr const char* kTVMFFIDataType = "DataType";
  static constexpr const char* kTVMFFIDevice = "Device";
  static constexpr const char* kTVMFFIDLTensorPtr = "DLTensor*";
  static constexpr const char* kTVMFFIRawStr = "const char*";
  static constexpr const char* kTVMFFIByteArrayPtr = "TVMFFIByteArray*";
  static constexpr const char* kTVMFFIObjectRValueRef = "ObjectRValueRef";
  static constexpr const char* kTVMFFISmallStr = "ffi.SmallStr";
  static constexpr const char* kTVMFFISmallBytes = "ffi.SmallBytes";
  static constexpr const char* kTVMFFIUnchanged = "ffi.Unchanged";
  static constexpr const char* kTVMFFIObject = "ffi.Object";
  static constexpr const char* kTVMFFIStr = "ffi.String";
  static constexpr const char* kTVMFFIBytes = "ffi.Bytes";
  static constexpr const char* kTVMFFIError = "ffi.Error";
  static constexpr const char* kTVMFFIFunction = "ffi.Function";
  static constexpr const char* kTVMFFIShape = "ffi.Shape";
  static constexpr const char* kTVMFFITensor = "ffi.Tensor";
  static constexpr const char* kTVMFFIArray = "ffi.Array";
  static constexpr const char* kTVMFFIMap = "ffi.Map";
  static constexpr const char* kTVMFFIModule = "ffi.Module";
  static constexpr const char* kTVMFFIOpaquePyObject = "ffi.OpaquePyObject";
  static constexpr const char* kTVMFFIList = "ffi.List";
  static constexpr const char* kTVMFFIDict = "ffi.Dict";
  static constexpr const char* kTVMFFIVisitInterrupt = "ffi.VisitInterrupt";
  static constexpr const char* kTVMFFIBigInt = "ffi.BigInt";
};

// Returns the type key of a registered type index.
inline std::string TypeIndexToTypeKey(int32_t type_index) {
  const TVMFFIByteArray& key = TVMFFIGetTypeInfo(type_index)->type_key;
  return std::string(key.data, key.size);
}

// True if every value stored as a Source can be read as a Target without a check, such as the
// elements of a container.
template <typename Target, typename Source, typename Enable = void>
inline constexpr bool type_subsumes_v =
    std::is_same_v<Target, Source> || std::is_base_of_v<Target, Source>;

// Conversion traits of a C++ type.  Specialized for each convertible type.
template <typename T, typename Enable = void>
struct TypeTraits {
  static constexpr bool convert_enabled = false;
  static constexpr bool storage_enabled = false;
};

// Conversion traits of T, where const and reference are removed from T.
template <typename T>
using TypeTraitsNoCR = TypeTraits<std::remove_const_t<std::remove_reference_t<T>>>;

// True for reference classes that use the default traits in object_detail.h.  Specialize it as
// false for a class with separate traits.
template <typename T>
inline constexpr bool use_default_type_traits_v = true;

// Base of most TypeTraits classes.
struct TypeTraitsBase {
  static constexpr bool convert_enabled = true;
  static constexpr bool storage_enabled = true;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIAny;

  // Returns the name of the actual value's type in an error message about a mismatch.
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    return TypeIndexToTypeKey(src->type_index);
  }
};

// Value of TVMFFIFieldInfo.field_static_type_index for a field of type T.
template <typename T, typename = void>
struct TypeToFieldStaticTypeIndex {
  static constexpr int32_t value = TypeIndex::kTVMFFIAny;
};
template <typename T>
struct TypeToFieldStaticTypeIndex<T, std::enable_if_t<TypeTraits<T>::convert_enabled>> {
  static constexpr int32_t value = TypeTraits<T>::field_static_type_index;
};

// Type index of a C++ type.  For a reference class, it is the index of the object class, see
// object_detail.h.
template <typename T, typename = void>
struct TypeToRuntimeTypeIndex {
  static int32_t v() { return TypeToFieldStaticTypeIndex<T>::value; }
};

namespace detail {

// Returns the JSON schema {"type":"<key>"} of a type key.
TVM_FFI_FAILURE_ inline std::string SchemaOfKey(const char* key) {
  std::string schema = "{\"type\":\"";
  schema += key;
  schema += "\"}";
  return schema;
}

// The integer type that stores the values of an integer or enum type.
template <typename T, bool = std::is_enum_v<T>>
struct IntegerOf {
  using Type = T;
};
template <typename T>
struct IntegerOf<T, true> {
  using Type = std::underlying_type_t<T>;
};

// Returns true if an integer or enum type represents the value of a 64-bit Int.  A 64-bit enum
// represents every value: enumerators such as `1ull << 63` are stored as negative numbers.
template <typename T>
constexpr bool FitsInteger([[maybe_unused]] int64_t value) {
  using Integer = typename IntegerOf<T>::Type;
  if constexpr (sizeof(Integer) < sizeof(int64_t)) {
    return static_cast<int64_t>(static_cast<Integer>(value)) == value;
  } else {
    return std::is_signed_v<Integer> || std::is_enum_v<T> || value >= 0;
  }
}

// Returns the name of an integer type, or of the integer type of an enum, in error messages.
template <typename T>
constexpr const char* IntegerName() {
  using Integer = typename IntegerOf<T>::Type;
  if (std::is_same_v<Integer, bool>) return "bool";
  if (std::is_same_v<Integer, char>) return "char";
  if (sizeof(Integer) == 1) return std::is_signed_v<Integer> ? "int8_t" : "uint8_t";
  if (sizeof(Integer) == 2) return std::is_signed_v<Integer> ? "int16_t" : "uint16_t";
  if (sizeof(Integer) == 4) return std::is_signed_v<Integer> ? "int32_t" : "uint32_t";
  return std::is_signed_v<Integer> ? "int64_t" : "uint64_t";
}

// Returns true if a floating-point type represents the value of a Float, given as its bits.  A
// float represents infinities and NaN, and numbers that round to at most FLT_MAX.  The test reads
// bits, because -ffast-math drops tests of a double for infinity and NaN.
template <typename Float>
constexpr bool FitsFloat([[maybe_unused]] uint64_t bits) {
  if constexpr (sizeof(Float) < sizeof(double)) {
    constexpr uint64_t kLeastTooLarge = 0x47EFFFFFF0000000;  // FLT_MAX + 2**103
    constexpr uint64_t kInfinity = 0x7FF0000000000000;
    uint64_t magnitude = bits & ~(uint64_t{1} << 63);
    return magnitude < kLeastTooLarge || magnitude >= kInfinity;
  } else {
    return true;
  }
}

// Part of the description of a number that its C++ type cannot represent, such as
// "300 does not fit uint8_t".  GetMismatchTypeInfo returns such a description instead of a type
// name.  An error whose message contains it is an OverflowError.
TVM_FFI_HIDDEN_ inline constexpr char kDoesNotFit[] = " does not fit ";

inline bool IsOutOfRange(std::string_view mismatch) {
  return mismatch.find(kDoesNotFit) != std::string_view::npos;
}

TVM_FFI_FAILURE_ inline std::string DescribeOutOfRange(int64_t value, const char* integer_name) {
  char text[64];
  std::snprintf(text, sizeof(text), "%lld%s%s", static_cast<long long>(value),  // NOLINT(*)
                kDoesNotFit, integer_name);
  return text;
}

TVM_FFI_FAILURE_ inline std::string DescribeOutOfRange(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.9g%sfloat", value, kDoesNotFit);
  return text;
}

// Throws OverflowError: `value` is larger than every 64-bit Int.  Defined in any.h; a template,
// because nvcc warns about declared inline functions without a definition.
template <typename = void>
[[noreturn]] TVM_FFI_HIDDEN_ void ThrowIntTooLarge(uint64_t value);

// Stores a type index and an integer payload; writes all 16 bytes of *out.
inline void SetIntPayload(TVMFFIAny* out, int32_t type_index, int64_t value) {
  out->type_index = type_index;
  out->zero_padding = 0;
  out->v_int64 = value;
}

// Copies all 16 bytes member by member, because GCC 12 at -O3 miscompiles a TVMFFIAny that is
// copied as a whole and then partly modified: the payload is lost.
inline void CopyPayload(TVMFFIAny* out, const TVMFFIAny& from) {
  out->type_index = from.type_index;
  out->zero_padding = from.zero_padding;
  out->v_uint64 = from.v_uint64;
}

inline void SetPointerPayload(TVMFFIAny* out, int32_t type_index, void* value) {
  out->type_index = type_index;
  out->zero_padding = 0;
  TVM_FFI_CLEAR_PTR_PADDING_IN_FFI_ANY(out);
  out->v_ptr = value;
}

// Traits of a type whose values are copied bit by bit; `Self` supplies the copy functions.
template <typename Self, typename T>
struct PlainValueTraits : TypeTraitsBase {
  static void MoveToAny(T src, TVMFFIAny* result) { Self::CopyToAnyView(src, result); }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == Self::field_static_type_index;
  }
  static T MoveFromAnyAfterCheck(TVMFFIAny* src) { return Self::CopyFromAnyViewAfterCheck(src); }
  static std::string TypeSchema() { return SchemaOfKey(Self::TypeStr().c_str()); }
};

// Returns the number that TryRead() reads, or std::nullopt.  The conversion of arguments calls
// TryRead() directly, because instantiating std::optional for a number type would double the
// compile time of an argument.
template <typename T>
std::optional<T> ReadNumber(const TVMFFIAny* src) {
  T value{};
  if (!TypeTraits<T>::TryRead(src, &value)) return std::nullopt;
  return value;
}

}  // namespace detail

namespace detail {
template <typename T>
struct NullTraits : PlainValueTraits<NullTraits<T>, T> {
  using Base = PlainValueTraits<NullTraits<T>, T>;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFINone;
  static void CopyToAnyView(const T&, TVMFFIAny* result) {
    SetIntPayload(result, TypeIndex::kTVMFFINone, 0);
  }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny*) { return T(nullptr); }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    if (Base::CheckAnyStrict(src)) return T(nullptr);
    return std::nullopt;
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFINone; }
};
}  // namespace detail
template <>
struct TypeTraits<std::nullptr_t> : detail::NullTraits<std::nullptr_t> {};

// A bool parameter type that accepts only Bool values, not integers; for use as a fallback type in
// the traits of a reference class.
class StrictBool {
 public:
  StrictBool(bool value) : value_(value) {}  // NOLINT(*)
  operator bool() const { return value_; }   // NOLINT(*)

 private:
  bool value_;
};

namespace detail {
template <typename T>
struct StrictBoolTraits : PlainValueTraits<StrictBoolTraits<T>, T> {
  using Base = PlainValueTraits<StrictBoolTraits<T>, T>;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIBool;
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    SetIntPayload(result, TypeIndex::kTVMFFIBool, src ? 1 : 0);
  }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny* src) { return src->v_int64 != 0; }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    if (Base::CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    return std::nullopt;
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIBool; }
};
}  // namespace detail
template <>
struct TypeTraits<StrictBool> : detail::StrictBoolTraits<StrictBool> {};

namespace detail {
template <typename T>
struct BoolTraits : PlainValueTraits<BoolTraits<T>, T> {
  using Base = PlainValueTraits<BoolTraits<T>, T>;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIBool;
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    SetIntPayload(result, TypeIndex::kTVMFFIBool, src ? 1 : 0);
  }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny* src) { return src->v_int64 != 0; }
  static bool TryRead(const TVMFFIAny* src, T* out) {
    if (src->type_index != TypeIndex::kTVMFFIInt && !Base::CheckAnyStrict(src)) return false;
    *out = src->v_int64 != 0;
    return true;
  }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) { return ReadNumber<T>(src); }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIBool; }
};
}  // namespace detail
template <>
struct TypeTraits<bool> : detail::BoolTraits<bool> {};

// Traits of integers and enums of all widths, which are stored as a 64-bit Int.  A value that the
// C++ type cannot represent does not convert; the error is an OverflowError.
template <typename Int>
struct TypeTraitsIntBase : detail::PlainValueTraits<TypeTraitsIntBase<Int>, Int> {
  using Base = detail::PlainValueTraits<TypeTraitsIntBase<Int>, Int>;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIInt;
  static void CopyInt64ToAnyView(int64_t src, TVMFFIAny* result) {
    detail::SetIntPayload(result, TypeIndex::kTVMFFIInt, src);
  }
  static void CopyToAnyView(const Int& src, TVMFFIAny* result) {
    auto value = static_cast<int64_t>(src);
    if (!detail::FitsInteger<Int>(value)) detail::ThrowIntTooLarge(static_cast<uint64_t>(src));
    CopyInt64ToAnyView(value, result);
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return Base::CheckAnyStrict(src) && detail::FitsInteger<Int>(src->v_int64);
  }
  static Int CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return static_cast<Int>(src->v_int64);
  }
  static bool TryRead(const TVMFFIAny* src, Int* out) {
    if (src->type_index != TypeIndex::kTVMFFIInt && src->type_index != TypeIndex::kTVMFFIBool) {
      return false;
    }
    if (!detail::FitsInteger<Int>(src->v_int64)) return false;
    *out = static_cast<Int>(src->v_int64);
    return true;
  }
  static std::optional<Int> TryCastFromAnyView(const TVMFFIAny* src) {
    return detail::ReadNumber<Int>(src);
  }
  // An Int mismatches only if it is out of range.
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (!Base::CheckAnyStrict(src)) return TypeTraitsBase::GetMismatchTypeInfo(src);
    return detail::DescribeOutOfRange(src->v_int64, detail::IntegerName<Int>());
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIInt; }
};

// True for enums with an integral underlying type.  The misspelled name is part of the public API.
template <typename T, bool = std::is_enum_v<T>>
inline constexpr bool is_integeral_enum_v = false;
template <typename T>
inline constexpr bool is_integeral_enum_v<T, true> = std::is_integral_v<std::underlying_type_t<T>>;

template <typename Int>
struct TypeTraits<Int, std::enable_if_t<std::is_integral_v<Int> || is_integeral_enum_v<Int>>>
    : TypeTraitsIntBase<Int> {};

// Traits of floating-point types, which are stored as a 64-bit Float.  A finite value that the C++
// type cannot represent does not convert; the error is an OverflowError.
template <typename Float>
struct TypeTraits<Float, std::enable_if_t<std::is_floating_point_v<Float>>>
    : detail::PlainValueTraits<TypeTraits<Float>, Float> {
  using Base = detail::PlainValueTraits<TypeTraits<Float>, Float>;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIFloat;
  static void CopyToAnyView(const Float& src, TVMFFIAny* result) {
    result->type_index = TypeIndex::kTVMFFIFloat;
    result->zero_padding = 0;
    result->v_float64 = static_cast<double>(src);
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return Base::CheckAnyStrict(src) && detail::FitsFloat<Float>(src->v_uint64);
  }
  static Float CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return static_cast<Float>(src->v_float64);
  }
  static bool TryRead(const TVMFFIAny* src, Float* out) {
    if (src->type_index == TypeIndex::kTVMFFIFloat) {
      if (!detail::FitsFloat<Float>(src->v_uint64)) return false;
      *out = static_cast<Float>(src->v_float64);
      return true;
    }
    if (src->type_index == TypeIndex::kTVMFFIInt || src->type_index == TypeIndex::kTVMFFIBool) {
      *out = static_cast<Float>(src->v_int64);
      return true;
    }
    return false;
  }
  static std::optional<Float> TryCastFromAnyView(const TVMFFIAny* src) {
    return detail::ReadNumber<Float>(src);
  }
  // A Float mismatches only if it is out of range.
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (!Base::CheckAnyStrict(src)) return TypeTraitsBase::GetMismatchTypeInfo(src);
    return detail::DescribeOutOfRange(src->v_float64);
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIFloat; }
};

namespace detail {
template <typename T>
struct OpaquePtrTraits : PlainValueTraits<OpaquePtrTraits<T>, T> {
  using Base = PlainValueTraits<OpaquePtrTraits<T>, T>;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIOpaquePtr;
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    SetPointerPayload(result, TypeIndex::kTVMFFIOpaquePtr, src);
  }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny* src) { return T(src->v_ptr); }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    if (Base::CheckAnyStrict(src)) return T(src->v_ptr);
    if (src->type_index == TypeIndex::kTVMFFINone) return T(nullptr);
    return std::nullopt;
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIOpaquePtr; }
};
}  // namespace detail
template <>
struct TypeTraits<void*> : detail::OpaquePtrTraits<void*> {};

// Base of traits for parameter types that an Any cannot store, but to which other types convert.
// The first Fallback whose cast succeeds is converted by TypeTraits<T>::ConvertFallbackValue.
template <typename T, typename... Fallback>
struct FallbackOnlyTraitsBase : TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static_assert(!(std::is_same_v<Fallback, bool> || ...),
                "bool accepts integers and would hide later fallbacks; use StrictBool");

  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    return TryFallbackTypes<Fallback...>(src);
  }
  // Same as TryCastFromAnyView, but for a given list of fallback types.  A derived class may pass
  // types that are to be tried first.
  template <typename... Types>
  static std::optional<T> TryFallbackTypes(const TVMFFIAny* src) {
    std::optional<T> result;
    (TryFallback<Types>(src, &result) || ...);
    return result;
  }

 private:
  template <typename From>
  static bool TryFallback(const TVMFFIAny* src, std::optional<T>* result) {
    std::optional<From> value = TypeTraits<From>::TryCastFromAnyView(src);
    if (value.has_value()) result->emplace(TypeTraits<T>::ConvertFallbackValue(*std::move(value)));
    return value.has_value();
  }
};

}  // namespace ffi
}  // namespace tvm

// Declares the type information in the body of an object class whose type another library
// registers.  The first use looks up the type index by its key.  Requires function.h, which
// declares TypeKeyToIndex.
#define TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP(RegisteredKey, TypeDepth) \
  static constexpr const char* _type_key = RegisteredKey;            \
  static constexpr int32_t _type_depth = TypeDepth;                  \
  static constexpr bool _type_mutable = true;                        \
  static constexpr bool _type_final = false;                         \
  static constexpr uint32_t _type_child_slots = 0;                   \
  static constexpr bool _type_child_slots_can_overflow = true;       \
  static int32_t RuntimeTypeIndex() {                                \
    static int32_t type_index;                                       \
    int32_t known = __atomic_load_n(&type_index, __ATOMIC_ACQUIRE);  \
    if (TVM_FFI_PREDICT_TRUE(known != 0)) return known;              \
    known = ::tvm::ffi::TypeKeyToIndex(_type_key);                   \
    __atomic_store_n(&type_index, known, __ATOMIC_RELEASE);          \
    return known;                                                    \
  }

#endif  // TVM_FFI_TYPE_TRAITS_H_
