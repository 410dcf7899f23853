// SPDX-License-Identifier: Apache-2.0
// Optional<T>: a T or nothing.  Its layout is part of the ABI and depends on T:
//
//   a reference class           8 bytes: the pointer, null if empty
//   ObjectPtr<X>, Arc<X>        8 bytes: the pointer, null if empty
//   a type that an Any stores   16 bytes: an Any, None if empty
//   other types                 a std::optional<T>
#ifndef TVM_FFI_OPTIONAL_H_
#define TVM_FFI_OPTIONAL_H_

#include <tvm/ffi/any.h>

namespace tvm {
namespace ffi {

template <typename T>
inline constexpr bool is_optional_type_v = false;
template <typename T>
inline constexpr bool is_optional_type_v<Optional<T>> = true;
template <typename T>
inline constexpr bool is_object_ptr_type_v = false;
template <typename T>
inline constexpr bool is_object_ptr_type_v<ObjectPtr<T>> = true;
template <typename T>
inline constexpr bool is_arc_type_v = false;
template <typename T>
inline constexpr bool is_arc_type_v<Arc<T>> = true;

template <typename T>
inline constexpr bool use_object_ref_optional_v = std::is_base_of_v<ObjectRef, T>;
template <typename T>
inline constexpr bool use_object_ptr_optional_v = is_object_ptr_type_v<T> || is_arc_type_v<T>;

namespace detail {

// True if the constructor of Optional<T> that converts a U to T accepts U; other constructors
// accept T, Optional, nullptr and std::optional.
template <typename Self, typename T, typename U>
inline constexpr bool optional_converts_v =
    std::is_convertible_v<U&&, T> && !std::is_same_v<std::decay_t<U>, T> &&
    !std::is_base_of_v<Self, std::decay_t<U>> && !std::is_same_v<std::decay_t<U>, std::nullptr_t> &&
    !std::is_same_v<std::decay_t<U>, std::optional<T>>;

// True if the assignment operator of Optional<T> that converts a U to T accepts U; other operators
// accept Optional, nullptr and std::optional.
template <typename T, typename U>
struct TakesValue
    : std::bool_constant<std::is_constructible_v<T, U&&> &&
                         (std::is_convertible_v<U&&, T> || std::is_assignable_v<T&, U&&>)> {};
template <typename Self, typename T, typename U, typename Plain = std::decay_t<U>>
inline constexpr bool optional_assigns_v =
    std::conjunction_v<std::negation<std::is_base_of<Self, Plain>>,
                       std::negation<std::is_same<Plain, std::optional<T>>>,
                       std::negation<std::is_same<Plain, std::nullopt_t>>,
                       std::negation<std::is_same<Plain, std::nullptr_t>>, TakesValue<T, U>>;

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowEmptyOptional(const char* message) {
  ThrowError("RuntimeError", std::string_view(message));
}

// True if an Optional can be compared with a U by the generic operator==; std::nullopt_t and
// nullptr have separate overloads.
template <typename U>
inline constexpr bool is_optional_operand_v =
    !is_optional_type_v<U> && !std::is_same_v<U, std::nullopt_t> &&
    !std::is_same_v<U, std::nullptr_t>;
template <typename U>
inline constexpr bool is_optional_operand_v<std::optional<U>> = false;

// True if a T can be compared with a U. optional_equals_v does not test a U that is an Optional,
// because the operators of that Optional may in turn evaluate equals_v.
template <typename T, typename U, typename = void>
inline constexpr bool equals_v = false;
template <typename T, typename U>
inline constexpr bool
    equals_v<T, U, std::void_t<decltype(std::declval<const T&>() == std::declval<const U&>())>> =
        true;
template <typename T, typename U, bool = is_optional_operand_v<U>>
inline constexpr bool optional_equals_v = false;
template <typename T, typename U>
inline constexpr bool optional_equals_v<T, U, true> = equals_v<T, U>;

// Operators of all representations of Optional, defined with has_value() and operator*.
template <typename Self, typename T>
class OptionalOperators {
 public:
  static constexpr bool _type_container_is_exact = false;

  explicit operator bool() const { return self().has_value(); }
  template <typename U = std::remove_cv_t<T>>
  T value_or(U&& other) const {
    if (self().has_value()) return *self();
    return T(std::forward<U>(other));
  }

  friend bool operator==(const Self& lhs, const Self& rhs) { return Same(lhs, rhs); }
  friend bool operator!=(const Self& lhs, const Self& rhs) { return !Same(lhs, rhs); }
  friend bool operator==(const Self& lhs, std::nullopt_t) { return !lhs.has_value(); }
  friend bool operator!=(const Self& lhs, std::nullopt_t) { return lhs.has_value(); }
  friend bool operator==(std::nullopt_t, const Self& rhs) { return !rhs.has_value(); }
  friend bool operator!=(std::nullopt_t, const Self& rhs) { return rhs.has_value(); }
  friend bool operator==(const Self& lhs, std::nullptr_t) { return !lhs.has_value(); }
  friend bool operator!=(const Self& lhs, std::nullptr_t) { return lhs.has_value(); }
  friend bool operator==(std::nullptr_t, const Self& rhs) { return !rhs.has_value(); }
  friend bool operator!=(std::nullptr_t, const Self& rhs) { return rhs.has_value(); }
  friend bool operator==(const Self& lhs, const std::optional<T>& rhs) {
    return lhs.has_value() == rhs.has_value() && (!rhs.has_value() || *lhs == *rhs);
  }
  friend bool operator!=(const Self& lhs, const std::optional<T>& rhs) { return !(lhs == rhs); }
  friend bool operator==(const std::optional<T>& lhs, const Self& rhs) { return rhs == lhs; }
  friend bool operator!=(const std::optional<T>& lhs, const Self& rhs) { return !(rhs == lhs); }
  template <typename U, typename = std::enable_if_t<optional_equals_v<T, U>>>
  friend bool operator==(const Self& lhs, const U& rhs) {
    return lhs.has_value() && *lhs == rhs;
  }
  template <typename U, typename = std::enable_if_t<optional_equals_v<T, U>>>
  friend bool operator!=(const Self& lhs, const U& rhs) {
    return !(lhs.has_value() && *lhs == rhs);
  }
  template <typename U, typename = std::enable_if_t<optional_equals_v<T, U>>>
  friend bool operator==(const U& lhs, const Self& rhs) {
    return rhs.has_value() && *rhs == lhs;
  }
  template <typename U, typename = std::enable_if_t<optional_equals_v<T, U>>>
  friend bool operator!=(const U& lhs, const Self& rhs) {
    return !(rhs.has_value() && *rhs == lhs);
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
  static bool Same(const Self& lhs, const Self& rhs) {
    return lhs.has_value() == rhs.has_value() && (!lhs.has_value() || *lhs == *rhs);
  }
};

}  // namespace detail

// A T or nothing.  For a reference class T, the null reference represents nothing.
template <typename T, typename Enable>
class Optional : public detail::OptionalOperators<Optional<T>, T> {
 public:
  Optional() = default;
  Optional(std::nullopt_t) {}                                    // NOLINT(*)
  Optional(std::optional<T> other) : data_(std::move(other)) {}  // NOLINT(*)
  Optional(T other) : data_(std::move(other)) {}                 // NOLINT(*)
  template <typename U, typename = std::enable_if_t<detail::optional_converts_v<Optional, T, U>>>
  Optional(U&& other) : data_(T(std::forward<U>(other))) {}  // NOLINT(*)
  Optional& operator=(std::nullopt_t) {
    data_ = std::nullopt;
    return *this;
  }
  template <typename U = T, typename = std::enable_if_t<detail::optional_assigns_v<Optional, T, U>>>
  Optional& operator=(U&& other) {
    data_ = T(std::forward<U>(other));
    return *this;
  }

  bool has_value() const { return data_.has_value(); }
  const T& value() const& {
    if (!has_value()) detail::ThrowEmptyOptional("Back optional access");
    return *data_;
  }
  T&& value() && {
    if (!has_value()) detail::ThrowEmptyOptional("Back optional access");
    return *std::move(data_);
  }
  const T& operator*() const& noexcept { return *data_; }
  T& operator*() & noexcept { return *data_; }
  T&& operator*() && noexcept { return *std::move(data_); }

 private:
  std::optional<T> data_;
};

// Optional of a type that an Any can store: the Any is None if the Optional is empty.
template <typename T>
class Optional<T, std::enable_if_t<TypeTraits<T>::storage_enabled &&
                                   !use_object_ref_optional_v<T> && !use_object_ptr_optional_v<T>>>
    : public detail::OptionalOperators<Optional<T>, T> {
 public:
  Optional() = default;
  Optional(std::nullopt_t) {}         // NOLINT(*)
  Optional(std::nullptr_t) {}         // NOLINT(*)
  Optional(std::optional<T> other) {  // NOLINT(*)
    if (other.has_value()) data_ = Any(*std::move(other));
  }
  Optional(T other) : data_(std::move(other)) {}  // NOLINT(*)
  template <typename U, typename = std::enable_if_t<detail::optional_converts_v<Optional, T, U>>>
  Optional(U&& other) : data_(T(std::forward<U>(other))) {}  // NOLINT(*)
  Optional& operator=(std::nullopt_t) {
    data_.reset();
    return *this;
  }
  Optional& operator=(std::nullptr_t) {
    data_.reset();
    return *this;
  }
  template <typename U = T, typename = std::enable_if_t<detail::optional_assigns_v<Optional, T, U>>>
  Optional& operator=(U&& other) {
    data_ = Any(T(std::forward<U>(other)));
    return *this;
  }

  bool has_value() const { return data_ != nullptr; }
  T value() const& {
    if (!has_value()) detail::ThrowEmptyOptional("Back optional access");
    return **this;
  }
  T value() && {
    if (!has_value()) detail::ThrowEmptyOptional("Back optional access");
    return *std::move(*this);
  }
  T operator*() const& { return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<T>(data_); }
  T operator*() && { return detail::AnyUnsafe::MoveFromAnyAfterCheck<T>(std::move(data_)); }
  template <typename U>
  auto as() const {
    return data_.template as<U>();
  }
  template <typename U>
  U as_or_throw() const& {
    return data_.template as_or_throw<U>();
  }
  template <typename U>
  U as_or_throw() && {
    return std::move(data_).template as_or_throw<U>();
  }
  bool same_as(const Optional& other) const { return data_.same_as(other.data_); }

 private:
  Any data_;
  template <typename, typename>
  friend struct TypeTraits;
};

// Optional of a reference class: the pointer is null if the Optional is empty, even if T itself
// cannot be null.
template <typename T>
class Optional<T, std::enable_if_t<use_object_ref_optional_v<T>>>
    : public detail::OptionalOperators<Optional<T>, T> {
 public:
  using value_type = T;
  using ContainerType = typename T::ContainerType;

  Optional() = default;
  explicit Optional(UnsafeInit) {}
  Optional(std::nullopt_t) {}         // NOLINT(*)
  Optional(std::nullptr_t) {}         // NOLINT(*)
  Optional(std::optional<T> other) {  // NOLINT(*)
    if (other.has_value()) *this = *std::move(other);
  }
  Optional(T other)  // NOLINT(*)
      : data_(detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(std::move(other))) {}
  template <typename U, typename = std::enable_if_t<detail::optional_converts_v<Optional, T, U>>>
  Optional(U&& other) : Optional(T(std::forward<U>(other))) {}  // NOLINT(*)
  Optional& operator=(std::nullopt_t) {
    data_.reset();
    return *this;
  }
  Optional& operator=(std::nullptr_t) {
    data_.reset();
    return *this;
  }
  template <typename U = T, typename = std::enable_if_t<detail::optional_assigns_v<Optional, T, U>>>
  Optional& operator=(U&& other) {
    data_ = detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(T(std::forward<U>(other)));
    return *this;
  }

  bool has_value() const { return data_ != nullptr; }
  T value() const& {
    if (!has_value()) detail::ThrowEmptyOptional("Back optional access");
    return **this;
  }
  T value() && {
    if (!has_value()) detail::ThrowEmptyOptional("Back optional access");
    return *std::move(*this);
  }
  T operator*() const& { return detail::ObjectUnsafe::ObjectRefFromObjectPtr<T>(data_); }
  T operator*() && { return detail::ObjectUnsafe::ObjectRefFromObjectPtr<T>(std::move(data_)); }
  const ContainerType* get() const { return static_cast<const ContainerType*>(data_.get()); }
  const ContainerType* operator->() const { return get(); }
  bool unique() const { return data_.unique(); }
  int use_count() const { return data_.use_count(); }
  template <typename U>
  auto as() const {
    return ObjectRef(data_).template as<U>();
  }
  template <typename U>
  U as_or_throw() const& {
    return ObjectRef(data_).template as_or_throw<U>();
  }
  template <typename U>
  U as_or_throw() && {
    return ObjectRef(std::move(data_)).template as_or_throw<U>();
  }
  bool same_as(const Optional& other) const { return data_ == other.data_; }
  bool same_as(const ObjectRef& other) const { return data_.get() == other.get(); }

 private:
  ObjectPtr<Object> data_;
  template <typename, typename>
  friend struct TypeTraits;
};

template <typename T>
class Optional<T, std::enable_if_t<use_object_ptr_optional_v<T>>>
    : private ObjectPtr<std::remove_pointer_t<decltype(std::declval<T>().get())>>,
      public detail::OptionalOperators<Optional<T>, T> {
  using Element = std::remove_pointer_t<decltype(std::declval<T>().get())>;
  using Base = ObjectPtr<Element>;

 public:
  using ContainerType = Element;
  using Base::get;
  using Base::unique;
  using Base::use_count;

  Optional() = default;
  Optional(std::nullopt_t) {}         // NOLINT(*)
  Optional(std::nullptr_t) {}         // NOLINT(*)
  Optional(std::optional<T> other) {  // NOLINT(*)
    if (other.has_value()) Base::operator=(*std::move(other));
  }
  Optional(T other) : Base(std::move(other)) {}  // NOLINT(*)
  template <typename U, typename = std::enable_if_t<detail::optional_converts_v<Optional, T, U>>>
  Optional(U&& other) : Base(T(std::forward<U>(other))) {}  // NOLINT(*)
  Optional& operator=(std::nullopt_t) {
    Base::reset();
    return *this;
  }
  Optional& operator=(std::nullptr_t) {
    Base::reset();
    return *this;
  }
  template <typename U = T, typename = std::enable_if_t<detail::optional_assigns_v<Optional, T, U>>>
  Optional& operator=(U&& other) {
    Base::operator=(T(std::forward<U>(other)));
    return *this;
  }

  bool has_value() const { return get() != nullptr; }
  T value() const& {
    if (!has_value()) detail::ThrowEmptyOptional("Bad optional access");
    return **this;
  }
  T value() && {
    if (!has_value()) detail::ThrowEmptyOptional("Bad optional access");
    return *std::move(*this);
  }
  T operator*() const& { return Make(static_cast<const Base&>(*this)); }
  T operator*() && { return Make(static_cast<Base&&>(*this)); }
  // Return the object as another reference class or pointer type, as Any::as and Any::as_or_throw
  // do.
  template <typename U>
  auto as() const {
    return AnyView(static_cast<const Base&>(*this)).template as<U>();
  }
  template <typename U>
  U as_or_throw() const& {
    return AnyView(static_cast<const Base&>(*this)).template as_or_throw<U>();
  }
  template <typename U>
  U as_or_throw() && {
    return Any(static_cast<Base&&>(*this)).template as_or_throw<U>();
  }
  bool same_as(const Optional& other) const { return get() == other.get(); }

 private:
  static T Make(Base pointer) {
    if constexpr (is_arc_type_v<T>) {
      return detail::ObjectUnsafe::ArcFromObjectPtr<Element>(std::move(pointer));
    } else {
      return pointer;
    }
  }
};

// ---- Conversion traits ------------------------------------------------------------------------

template <typename T>
inline constexpr bool use_default_type_traits_v<Optional<T>> = false;

template <typename T, typename U>
inline constexpr bool type_subsumes_v<Optional<T>, Optional<U>> = type_subsumes_v<T, U>;
template <typename T, typename U>
inline constexpr bool type_subsumes_v<Optional<T>, U, std::enable_if_t<!is_optional_type_v<U>>> =
    type_subsumes_v<T, U>;

template <typename T>
struct TypeTraits<Optional<T>> : TypeTraitsBase {
  static constexpr bool convert_enabled = TypeTraits<T>::convert_enabled;
  static constexpr bool storage_enabled = TypeTraits<T>::storage_enabled;

  static void CopyToAnyView(const Optional<T>& src, TVMFFIAny* result) {
    if (!src.has_value()) {
      detail::SetIntPayload(result, kTVMFFINone, 0);
    } else if constexpr (use_object_ref_optional_v<T> || use_object_ptr_optional_v<T>) {
      detail::SetObjectPayload(result, detail::ObjectUnsafe::GetHeader(src.get()));
    } else if constexpr (TypeTraits<T>::storage_enabled) {
      *result = *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(src.data_);
    } else {
      TypeTraits<T>::CopyToAnyView(*src, result);
    }
  }
  static void MoveToAny(Optional<T> src, TVMFFIAny* result) {
    if (!src.has_value()) {
      detail::SetIntPayload(result, kTVMFFINone, 0);
    } else {
      TypeTraits<T>::MoveToAny(*std::move(src), result);
    }
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == kTVMFFINone || TypeTraits<T>::CheckAnyStrict(src);
  }
  static Optional<T> CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return std::nullopt;
    return TypeTraits<T>::CopyFromAnyViewAfterCheck(src);
  }
  static Optional<T> MoveFromAnyAfterCheck(TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return std::nullopt;
    return TypeTraits<T>::MoveFromAnyAfterCheck(src);
  }
  static std::optional<Optional<T>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return std::optional<Optional<T>>(std::in_place);
    std::optional<T> value = TypeTraits<T>::TryCastFromAnyView(src);
    if (!value.has_value()) return std::nullopt;
    return std::optional<Optional<T>>(std::in_place, *std::move(value));
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    return TypeTraits<T>::GetMismatchTypeInfo(src);
  }
  static std::string TypeStr() { return "Optional<" + TypeTraits<T>::TypeStr() + ">"; }
  static std::string TypeSchema() {
    return "{\"type\":\"Optional\",\"args\":[" + detail::TypeSchema<T>::v() + "]}";
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_OPTIONAL_H_
