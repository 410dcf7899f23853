// SPDX-License-Identifier: Apache-2.0
// AnyView and Any: C++ classes of the borrowed and the owned 16-byte value.
//
// AnyView is passed in registers to functions and type hooks, so it must stay trivially copyable.
// An Any owns one strong reference if its type index belongs to an object type.  It never contains
// a borrowed form (C string, byte array, rvalue reference): construction from such a value copies
// the bytes or moves the object.
#ifndef TVM_FFI_ANY_H_
#define TVM_FFI_ANY_H_

#include <tvm/ffi/error.h>
#include <tvm/ffi/string.h>

namespace tvm {
namespace ffi {

class Any;
class AnyView;

namespace detail {

struct AnyUnsafe;

template <typename T>
inline constexpr bool is_any_v = std::is_same_v<T, Any> || std::is_same_v<T, AnyView>;

// True if T is Any or has conversion traits, so that `as<T>`, `cast<T>` and `try_cast<T>` return a
// T by value.  For object classes, another overload of `as` returns a pointer.
template <typename T>
inline constexpr bool castable_v = TypeTraits<T>::convert_enabled || std::is_same_v<T, Any>;

template <typename T>
constexpr const char* ArithmeticTypeName() {
  if constexpr (std::is_same_v<T, bool>) return StaticTypeKey::kTVMFFIBool;
  if constexpr (std::is_integral_v<T>) return StaticTypeKey::kTVMFFIInt;
  if constexpr (std::is_floating_point_v<T>) return StaticTypeKey::kTVMFFIFloat;
  return nullptr;
}

// Name of T in error messages, or nullptr if only the traits of T can compute the name.  If the
// name is not nullptr, the message about a type mismatch contains the type key of the actual value.
// The name is a constant, because a function would be compiled into every file that uses the type.
template <typename T>
inline constexpr const char* type_name_v = ArithmeticTypeName<T>();
template <>
inline constexpr const char* type_name_v<Any> = "Any";
template <>
inline constexpr const char* type_name_v<AnyView> = "AnyView";
template <>
inline constexpr const char* type_name_v<void> = "void";

// Type2Str<T>::v() returns the name of T in error messages.
template <typename T>
struct Type2Str {
  using Value = std::remove_const_t<std::remove_reference_t<T>>;
  static std::string v() {
    if constexpr (type_name_v<Value> != nullptr) {
      return type_name_v<Value>;
    } else {
      return TypeTraits<Value>::TypeStr();
    }
  }
};

// Replaces the borrowed form in *data (C string, byte array or rvalue reference) with an owned
// value.
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline void CopyBorrowedForm(TVMFFIAny* data) {
  TVMFFIAny view;
  CopyPayload(&view, *data);
  SetIntPayload(data, kTVMFFINone, 0);
  CheckSafeCall(TVMFFIAnyViewToOwnedAny(&view, data));
}

// Converts the borrowed value in *data to an owned value in place.  The second parameter is unused;
// it belongs to the public signature.
inline void InplaceConvertAnyViewToAny(TVMFFIAny* data, size_t = 0) {
  if (data->type_index >= kTVMFFIStaticObjectBegin) {
    IncRef(data->v_obj);
  } else if (data->type_index >= kTVMFFIRawStr && data->type_index <= kTVMFFIObjectRValueRef) {
    CopyBorrowedForm(data);
  }
}

template <typename T>
[[noreturn]] TVM_FFI_FAILURE_ void ThrowCastFailure(const TVMFFIAny* value) {
  ThrowCannotConvert(TypeTraits<T>::GetMismatchTypeInfo(value), Type2Str<T>::v());
}
template <typename T>
[[noreturn]] TVM_FFI_FAILURE_ void ThrowTreatFailure(const TVMFFIAny* value) {
  ThrowCannotTreat(TypeTraits<T>::GetMismatchTypeInfo(value), Type2Str<T>::v());
}

// Functions that cast an Any or AnyView to a type T other than Any and AnyView.  The parameter is a
// pointer because the failure path needs the address of the value: a value parameter would have to
// be stored in memory before every cast.
template <typename T>
std::optional<T> ValueAs(const TVMFFIAny* value) {
  if (!TypeTraits<T>::CheckAnyStrict(value)) return std::nullopt;
  return TypeTraits<T>::CopyFromAnyViewAfterCheck(value);
}
template <typename T>
const T* ValueAsObject(const TVMFFIAny* value) {
  if (!HoldsInstance<T>(value)) return nullptr;
  return ObjectUnsafe::RawObjectPtrFromUnowned<T>(value->v_obj);
}
template <typename T>
T ValueAsOrThrow(const TVMFFIAny* value) {
  if (!TypeTraits<T>::CheckAnyStrict(value)) ThrowTreatFailure<T>(value);
  return TypeTraits<T>::CopyFromAnyViewAfterCheck(value);
}
template <typename T>
T CastValue(const TVMFFIAny* value) {
  std::optional<T> result = TypeTraits<T>::TryCastFromAnyView(value);
  if (TVM_FFI_PREDICT_FALSE(!result.has_value())) ThrowCastFailure<T>(value);
  return *std::move(result);
}

}  // namespace detail

// A borrowed value; valid until the owner of the value releases or changes it.
class AnyView {
 public:
  AnyView() { reset(); }
  AnyView(const AnyView&) = default;
  AnyView& operator=(const AnyView&) = default;
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  AnyView(const T& other) {  // NOLINT(*)
    TypeTraits<T>::CopyToAnyView(other, &data_);
  }
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  AnyView& operator=(const T& other) {
    return *this = AnyView(other);
  }

  void reset() { detail::SetIntPayload(&data_, kTVMFFINone, 0); }
  void swap(AnyView& other) noexcept {
    AnyView value = *this;
    *this = other;
    other = value;
  }
  int32_t type_index() const { return data_.type_index; }
  std::string GetTypeKey() const { return TypeIndexToTypeKey(data_.type_index); }
  bool same_as(const AnyView& other) const {
    return std::memcmp(&data_, &other.data_, sizeof(data_)) == 0;
  }
  bool operator==(std::nullptr_t) const { return data_.type_index == kTVMFFINone; }
  bool operator!=(std::nullptr_t) const { return data_.type_index != kTVMFFINone; }

  // Returns the value, without conversion, if it is a T.  Otherwise returns std::nullopt, or a null
  // pointer if T is an object class.
  template <typename T, std::enable_if_t<detail::castable_v<T>, int> = 0>
  std::optional<T> as() const;
  template <typename T, std::enable_if_t<is_object_subclass_v<T>, int> = 0>
  const T* as() const {
    return detail::ValueAsObject<T>(&data_);
  }
  // Same as `as`, but throws TypeError if the value is not a T.
  template <typename T>
  T as_or_throw() const;
  // `cast` converts the value to T and throws TypeError if the conversion fails; `try_cast` returns
  // std::nullopt in that case.
  template <typename T, typename = std::enable_if_t<detail::castable_v<T>>>
  T cast() const;
  template <typename T, typename = std::enable_if_t<detail::castable_v<T>>>
  std::optional<T> try_cast() const;

  TVMFFIAny CopyToTVMFFIAny() const { return data_; }
  static AnyView CopyFromTVMFFIAny(TVMFFIAny data) {
    AnyView view;
    view.data_ = data;
    return view;
  }

 protected:
  TVMFFIAny data_;

 private:
  friend struct detail::AnyUnsafe;
  friend class Any;
};

static_assert(std::is_trivially_copyable_v<AnyView> && std::is_standard_layout_v<AnyView>,
              "AnyView is passed in registers");

// An owned value.  If the value is an object, the Any owns one strong reference to the object.
class Any {
 public:
  Any() { detail::SetIntPayload(&data_, kTVMFFINone, 0); }
  Any(const Any& other) {
    detail::CopyPayload(&data_, other.data_);
    if (HoldsObject()) detail::IncRef(data_.v_obj);
  }
  Any(Any&& other) noexcept {
    detail::CopyPayload(&data_, other.data_);
    detail::SetIntPayload(&other.data_, kTVMFFINone, 0);
  }
  Any(const AnyView& other) {  // NOLINT(*)
    detail::CopyPayload(&data_, other.data_);
    detail::InplaceConvertAnyViewToAny(&data_);
  }
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  Any(T other) {  // NOLINT(*)
    TypeTraits<T>::MoveToAny(std::move(other), &data_);
  }
  ~Any() {
    if (HoldsObject()) detail::DecRef(data_.v_obj);
  }
  Any& operator=(const Any& other) {
    Any(other).swap(*this);
    return *this;
  }
  Any& operator=(Any&& other) noexcept {
    Any(std::move(other)).swap(*this);
    return *this;
  }
  Any& operator=(const AnyView& other) {
    Any(other).swap(*this);
    return *this;
  }
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  Any& operator=(T other) {
    Any(std::move(other)).swap(*this);
    return *this;
  }

  void reset() {
    if (!HoldsObject()) {
      detail::SetIntPayload(&data_, kTVMFFINone, 0);
      return;
    }
    TVMFFIObject* object = data_.v_obj;
    detail::SetIntPayload(&data_, kTVMFFINone, 0);
    detail::DecRef(object);
  }
  void swap(Any& other) noexcept {
    TVMFFIAny data;
    detail::CopyPayload(&data, data_);
    detail::CopyPayload(&data_, other.data_);
    detail::CopyPayload(&other.data_, data);
  }
  int32_t type_index() const { return data_.type_index; }
  std::string GetTypeKey() const { return TypeIndexToTypeKey(data_.type_index); }
  bool same_as(const Any& other) const {
    return std::memcmp(&data_, &other.data_, sizeof(data_)) == 0;
  }
  bool same_as(const ObjectRef& other) const { return same_as(Any(other)); }
  bool operator==(std::nullptr_t) const { return data_.type_index == kTVMFFINone; }
  bool operator!=(std::nullptr_t) const { return data_.type_index != kTVMFFINone; }
  operator AnyView() const { return AnyView::CopyFromTVMFFIAny(data_); }  // NOLINT(*)

  // Same as the casts of AnyView, but an rvalue Any moves its value into the result if the value is
  // a T already.
  template <typename T, std::enable_if_t<detail::castable_v<T>, int> = 0>
  std::optional<T> as() const& {
    if constexpr (std::is_same_v<T, Any>) {
      return *this;
    } else {
      return detail::ValueAs<T>(&data_);
    }
  }
  template <typename T, std::enable_if_t<TypeTraits<T>::storage_enabled, int> = 0>
  std::optional<T> as() && {
    if (!IsStrictly<T>()) return std::nullopt;
    return MoveOut<T>();
  }
  template <typename T, std::enable_if_t<is_object_subclass_v<T>, int> = 0>
  const T* as() const& {
    return detail::ValueAsObject<T>(&data_);
  }
  template <typename T>
  T as_or_throw() const& {
    if constexpr (std::is_same_v<T, Any>) {
      return *this;
    } else {
      return detail::ValueAsOrThrow<T>(&data_);
    }
  }
  template <typename T, std::enable_if_t<TypeTraits<T>::storage_enabled, int> = 0>
  T as_or_throw() && {
    if (!IsStrictly<T>()) detail::ThrowTreatFailure<T>(&data_);
    return MoveOut<T>();
  }
  template <typename T, typename = std::enable_if_t<detail::castable_v<T>>>
  T cast() const& {
    if constexpr (std::is_same_v<T, Any>) {
      return *this;
    } else {
      return detail::CastValue<T>(&data_);
    }
  }
  template <typename T, std::enable_if_t<TypeTraits<T>::storage_enabled, int> = 0>
  T cast() && {
    if (IsStrictly<T>()) return MoveOut<T>();
    return detail::CastValue<T>(&data_);
  }
  template <typename T, typename = std::enable_if_t<detail::castable_v<T>>>
  std::optional<T> try_cast() const {
    if constexpr (std::is_same_v<T, Any>) {
      return *this;
    } else {
      return TypeTraits<T>::TryCastFromAnyView(&data_);
    }
  }

 protected:
  TVMFFIAny data_;

 private:
  bool HoldsObject() const { return data_.type_index >= kTVMFFIStaticObjectBegin; }
  template <typename T>
  bool IsStrictly() const {
    return TypeTraits<T>::CheckAnyStrict(&data_);
  }
  template <typename T>
  T MoveOut() {
    return TypeTraits<T>::MoveFromAnyAfterCheck(&data_);
  }

  friend struct detail::AnyUnsafe;
};

template <typename T, std::enable_if_t<detail::castable_v<T>, int>>
std::optional<T> AnyView::as() const {
  if constexpr (std::is_same_v<T, Any>) {
    return T(*this);
  } else {
    return detail::ValueAs<T>(&data_);
  }
}
template <typename T>
T AnyView::as_or_throw() const {
  if constexpr (std::is_same_v<T, Any>) {
    return T(*this);
  } else {
    return detail::ValueAsOrThrow<T>(&data_);
  }
}
template <typename T, typename>
T AnyView::cast() const {
  if constexpr (std::is_same_v<T, Any>) {
    return T(*this);
  } else {
    return detail::CastValue<T>(&data_);
  }
}
template <typename T, typename>
std::optional<T> AnyView::try_cast() const {
  if constexpr (std::is_same_v<T, Any>) {
    return T(*this);
  } else {
    return TypeTraits<T>::TryCastFromAnyView(&data_);
  }
}

template <typename T>
inline constexpr bool type_subsumes_v<Any, T> = true;

namespace detail {

struct AnyUnsafe : ObjectUnsafe {
  static TVMFFIAny MoveAnyToTVMFFIAny(Any&& any) {
    TVMFFIAny data;
    CopyPayload(&data, any.data_);
    SetIntPayload(&any.data_, kTVMFFINone, 0);
    return data;
  }
  static Any MoveTVMFFIAnyToAny(TVMFFIAny* data) {
    Any any;
    CopyPayload(&any.data_, *data);
    SetIntPayload(data, kTVMFFINone, 0);
    return any;
  }
  static Any MoveTVMFFIAnyRawToAny(TVMFFIAny data) { return MoveTVMFFIAnyToAny(&data); }
  template <typename T>
  static bool CheckAnyStrict(const Any& any) {
    return CheckStrict<T>(&any.data_);
  }
  template <typename T>
  static bool CheckAnyViewStrict(const AnyView& view) {
    return CheckStrict<T>(&view.data_);
  }
  template <typename T>
  static T CopyFromAnyViewAfterCheck(const Any& any) {
    if constexpr (std::is_same_v<T, Any>) {
      return any;
    } else {
      return TypeTraits<T>::CopyFromAnyViewAfterCheck(&any.data_);
    }
  }
  template <typename T>
  static T CopyFromAnyViewAfterCheck(const AnyView& view) {
    if constexpr (std::is_same_v<T, Any>) {
      return T(view);
    } else {
      return TypeTraits<T>::CopyFromAnyViewAfterCheck(&view.data_);
    }
  }
  template <typename T>
  static T MoveFromAnyAfterCheck(Any&& any) {
    if constexpr (std::is_same_v<T, Any>) {
      return std::move(any);
    } else {
      return TypeTraits<T>::MoveFromAnyAfterCheck(&any.data_);
    }
  }
  template <typename T = Object>
  static const T* RawObjectPtrFromAnyAfterCheck(const Any& any) {
    return RawObjectPtrFromUnowned<T>(any.data_.v_obj);
  }
  template <typename T = Object>
  static const T* RawObjectPtrFromAnyViewAfterCheck(const AnyView& view) {
    return RawObjectPtrFromUnowned<T>(view.data_.v_obj);
  }
  static const TVMFFIAny* TVMFFIAnyPtrFromAny(const Any& any) { return &any.data_; }
  static TVMFFIAny* TVMFFIAnyPtrFromAny(Any& any) { return &any.data_; }
  template <typename T>
  static std::string GetMismatchTypeInfo(const Any& any) {
    if constexpr (std::is_same_v<T, Any>) {
      return any.GetTypeKey();
    } else {
      return TypeTraits<T>::GetMismatchTypeInfo(&any.data_);
    }
  }

 private:
  template <typename T>
  static bool CheckStrict(const TVMFFIAny* data) {
    if constexpr (std::is_same_v<T, Any>) {
      return true;
    } else {
      return TypeTraits<T>::CheckAnyStrict(data);
    }
  }
};

template <typename>
[[noreturn]] void ThrowIntTooLarge(uint64_t value) {
  ThrowFormatted("OverflowError",
                 "Integer value %llu is too large to fit in int64_t. Consider explicitly casting "
                 "to int64_t first if this is intentional.",
                 static_cast<unsigned long long>(value));  // NOLINT(*)
}

}  // namespace detail

}  // namespace ffi

using ffi::Any;
using ffi::AnyView;
}  // namespace tvm

#include <tvm/ffi/any_hash_detail.h>
#endif  // TVM_FFI_ANY_H_

// Includes <iostream> for example programs that print with std::cout but include only this header.
// Files that include this header indirectly do not get <iostream>.  Standard libraries in which
// <iostream> adds a static object with a destructor to each file are excluded, because code for a
// JIT linker must not have such objects.
#if defined(__INCLUDE_LEVEL__) && __INCLUDE_LEVEL__ == 1 && \
    (defined(_LIBCPP_VERSION) || (defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE >= 13))
#include <iostream>
#endif
