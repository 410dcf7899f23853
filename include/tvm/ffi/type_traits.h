// SPDX-License-Identifier: Apache-2.0
// TypeTraits<T>: how values of a C++ type enter and leave the 16-byte TVMFFIAny.
//
// A traits class tells whether a type converts at all (convert_enabled) and whether an owned Any
// can hold it (storage_enabled).  "Strict" checks accept only what already is a T; TryCast also
// converts.  Users specialize TypeTraits for their own types.  Here: null, numbers and void*.
//
// Traits of single types derive from a class template: a member of a template costs compile time
// only in the files that use it.
#ifndef TVM_FFI_TYPE_TRAITS_H_
#define TVM_FFI_TYPE_TRAITS_H_

#include <tvm/ffi/base_detail.h>

#include <optional>
#include <string>

namespace tvm {
namespace ffi {

class Any;
class AnyView;

// The C enum under a name of C++.
using TypeIndex = TVMFFITypeIndex;
// The C struct under a name of C++.
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

// The type key of a registered type index.
inline std::string TypeIndexToTypeKey(int32_t type_index) {
  const TVMFFIByteArray& key = TVMFFIGetTypeInfo(type_index)->type_key;
  return std::string(key.data, key.size);
}

// Whether storage that holds a Source may be read as a Target without a check.
template <typename Target, typename Source, typename Enable = void>
inline constexpr bool type_subsumes_v =
    std::is_same_v<Target, Source> || std::is_base_of_v<Target, Source>;

// How a C++ type becomes a value and back; specialized for each type that can.
template <typename T, typename Enable = void>
struct TypeTraits {
  static constexpr bool convert_enabled = false;
  static constexpr bool storage_enabled = false;
};

// The traits of T without const and reference.
template <typename T>
using TypeTraitsNoCR = TypeTraits<std::remove_const_t<std::remove_reference_t<T>>>;

// A reference class with traits of its own sets this to false.
template <typename T>
inline constexpr bool use_default_type_traits_v = true;

// What most traits begin with.
struct TypeTraitsBase {
  static constexpr bool convert_enabled = true;
  static constexpr bool storage_enabled = true;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIAny;

  // What an error message calls the value that did not fit.
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    return TypeIndexToTypeKey(src->type_index);
  }
};

// Type index for TVMFFIFieldInfo.field_static_type_index.
template <typename T, typename = void>
struct TypeToFieldStaticTypeIndex {
  static constexpr int32_t value = TypeIndex::kTVMFFIAny;
};
template <typename T>
struct TypeToFieldStaticTypeIndex<T, std::enable_if_t<TypeTraits<T>::convert_enabled>> {
  static constexpr int32_t value = TypeTraits<T>::field_static_type_index;
};

// Reference types, in object.h, answer with the index that their container type has at run time.
template <typename T, typename = void>
struct TypeToRuntimeTypeIndex {
  static int32_t v() { return TypeToFieldStaticTypeIndex<T>::value; }
};

namespace detail {

// {"type":"<key>"}
TVM_FFI_FAILURE_ inline std::string SchemaOfKey(const char* key) {
  std::string schema = "{\"type\":\"";
  schema += key;
  schema += "\"}";
  return schema;
}

// Writes all 16 bytes of a value that has an integer payload.
inline void SetIntPayload(TVMFFIAny* out, int32_t type_index, int64_t value) {
  out->type_index = type_index;
  out->zero_padding = 0;
  out->v_int64 = value;
}

// Copies all 16 bytes member by member: GCC 12 at -O3 loses the payload of a TVMFFIAny that is
// copied as a whole and then changed in parts.
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

// Traits of a value that is copied bit by bit: `Self` supplies Read and Write.
template <typename Self, typename T>
struct PlainValueTraits : TypeTraitsBase {
  static void MoveToAny(T src, TVMFFIAny* result) { Self::CopyToAnyView(src, result); }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == Self::field_static_type_index;
  }
  static T MoveFromAnyAfterCheck(TVMFFIAny* src) { return Self::CopyFromAnyViewAfterCheck(src); }
  static std::string TypeSchema() { return SchemaOfKey(Self::TypeStr().c_str()); }
};

// Numbers are read by TryRead(), which arguments of functions use, too: a std::optional for each
// type of number takes the compiler as long as all else that is done for an argument.
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

// A bool that does not accept integers; fallbacks of reference types are declared with it.
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

// Integers and enums of every width are one 64-bit Int; narrowing is not checked.
template <typename Int>
struct TypeTraitsIntBase : detail::PlainValueTraits<TypeTraitsIntBase<Int>, Int> {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIInt;
  static void CopyInt64ToAnyView(int64_t src, TVMFFIAny* result) {
    detail::SetIntPayload(result, TypeIndex::kTVMFFIInt, src);
  }
  static void CopyToAnyView(const Int& src, TVMFFIAny* result) {
    CopyInt64ToAnyView(static_cast<int64_t>(src), result);
  }
  static Int CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return static_cast<Int>(src->v_int64);
  }
  static bool TryRead(const TVMFFIAny* src, Int* out) {
    if (src->type_index != TypeIndex::kTVMFFIInt && src->type_index != TypeIndex::kTVMFFIBool) {
      return false;
    }
    *out = static_cast<Int>(src->v_int64);
    return true;
  }
  static std::optional<Int> TryCastFromAnyView(const TVMFFIAny* src) {
    return detail::ReadNumber<Int>(src);
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIInt; }
};

// The spelling is part of the contract.
template <typename T, bool = std::is_enum_v<T>>
inline constexpr bool is_integeral_enum_v = false;
template <typename T>
inline constexpr bool is_integeral_enum_v<T, true> = std::is_integral_v<std::underlying_type_t<T>>;

template <typename Int>
struct TypeTraits<Int, std::enable_if_t<std::is_integral_v<Int> || is_integeral_enum_v<Int>>>
    : TypeTraitsIntBase<Int> {};

template <typename Float>
struct TypeTraits<Float, std::enable_if_t<std::is_floating_point_v<Float>>>
    : detail::PlainValueTraits<TypeTraits<Float>, Float> {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIFloat;
  static void CopyToAnyView(const Float& src, TVMFFIAny* result) {
    result->type_index = TypeIndex::kTVMFFIFloat;
    result->zero_padding = 0;
    result->v_float64 = static_cast<double>(src);
  }
  static Float CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return static_cast<Float>(src->v_float64);
  }
  static bool TryRead(const TVMFFIAny* src, Float* out) {
    if (src->type_index == TypeIndex::kTVMFFIFloat) {
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

// Base for parameter-only types that are made from others: the first Fallback whose cast succeeds
// goes through TypeTraits<T>::ConvertFallbackValue.
template <typename T, typename... Fallback>
struct FallbackOnlyTraitsBase : TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static_assert(!(std::is_same_v<Fallback, bool> || ...),
                "bool accepts integers and would hide later fallbacks; use StrictBool");

  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    return TryFallbackTypes<Fallback...>(src);
  }
  // The same for other fallbacks, which a derived class may try before its own.
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

// In the body of a class that stands for a type some other library registers: finds the index by
// its key on first use.  Needs function.h.
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
