// SPDX-License-Identifier: Apache-2.0
// Variant<V...>: a value of one of the types V, stored as an Any.
#ifndef TVM_FFI_CONTAINER_VARIANT_H_
#define TVM_FFI_CONTAINER_VARIANT_H_

#include <tvm/ffi/container/container_detail.h>
#include <tvm/ffi/optional.h>

namespace tvm {
namespace ffi {

// A value of one of the types V.  A conversion tries the types in the order of V.
template <typename... V>
class Variant {
  static_assert(sizeof...(V) > 0, "a Variant has at least one alternative");
  static_assert(detail::all_storage_enabled_v<V...>,
                "Variant requires alternatives that Any can store");

 public:
  static constexpr bool _type_container_is_exact = false;
  template <typename T>
  static constexpr bool variant_contains_v = (type_subsumes_v<V, T> || ...);
  template <typename T>
  using enable_if_variant_contains_t = std::enable_if_t<variant_contains_v<T>>;

  Variant(const Variant&) = default;
  Variant(Variant&&) noexcept = default;
  Variant& operator=(const Variant&) = default;
  Variant& operator=(Variant&&) noexcept = default;
  template <typename T, typename = enable_if_variant_contains_t<T>>
  Variant(T other) : data_(std::move(other)) {}  // NOLINT(*)
  template <typename T, typename = enable_if_variant_contains_t<T>>
  Variant& operator=(T other) {
    data_ = Any(std::move(other));
    return *this;
  }

  // Returns the value if its type is T, without a conversion; otherwise std::nullopt.
  template <typename T, std::enable_if_t<detail::castable_v<T>, int> = 0>
  std::optional<T> as() const {
    return data_.template as<T>();
  }
  // Returns the object if its class is T or derives from it; otherwise nullptr.
  template <typename T, std::enable_if_t<is_object_subclass_v<T>, int> = 0>
  const T* as() const {
    return data_.template as<T>();
  }
  // Return the value, converted to T.  Fails: TypeError if the value does not convert to T.
  template <typename T, typename = std::enable_if_t<detail::castable_v<T>>>
  T get() const& {
    return data_.template cast<T>();
  }
  template <typename T, typename = std::enable_if_t<detail::castable_v<T>>>
  T get() && {
    if constexpr (TypeTraits<T>::storage_enabled) {
      return std::move(data_).template cast<T>();
    } else {
      return data_.template cast<T>();
    }
  }
  std::string GetTypeKey() const { return data_.GetTypeKey(); }
  bool same_as(const Variant& other) const { return data_.same_as(other.data_); }

 private:
  // Tag of the constructor that does not check its argument.  The caller guarantees that the
  // argument is a value of one of the types V.
  struct Checked {};
  Variant(Checked, Any data) : data_(std::move(data)) {}

  Any data_;
  template <typename, typename>
  friend struct TypeTraits;
};

static_assert(sizeof(Variant<int64_t, String>) == sizeof(TVMFFIAny), "a Variant is one Any");

template <typename... V>
inline constexpr bool use_default_type_traits_v<Variant<V...>> = false;

template <typename... V, typename T>
inline constexpr bool type_subsumes_v<Variant<V...>, T> =
    std::is_same_v<Variant<V...>, T> || (type_subsumes_v<V, T> || ...);

template <typename... V>
struct TypeTraits<Variant<V...>> : TypeTraitsBase {
  using Self = Variant<V...>;

  static void CopyToAnyView(const Self& src, TVMFFIAny* result) {
    *result = *detail::AnyUnsafe::TVMFFIAnyPtrFromAny(src.data_);
  }
  static void MoveToAny(Self src, TVMFFIAny* result) {
    *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(src.data_));
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    AnyView view = AnyView::CopyFromTVMFFIAny(*src);
    return (detail::AnyUnsafe::CheckAnyViewStrict<V>(view) || ...);
  }
  static Self CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return Self(typename Self::Checked(), Any(AnyView::CopyFromTVMFFIAny(*src)));
  }
  static Self MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return Self(typename Self::Checked(), detail::AnyUnsafe::MoveTVMFFIAnyToAny(src));
  }
  // A value of one of the types V is not converted.  Other values are converted to the first type
  // of V that accepts them.
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    std::optional<Self> result;
    if (CheckAnyStrict(src)) {
      result.emplace(CopyFromAnyViewAfterCheck(src));
    } else {
      (TryAlternative<V>(src, &result) || ...);
    }
    return result;
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    return detail::DescribeVariantMismatch<V...>(src);
  }
  static std::string TypeStr() { return detail::ContainerTypeStr<V...>("Variant"); }
  static std::string TypeSchema() { return detail::ContainerTypeSchema<V...>("Variant"); }

 private:
  template <typename T>
  static bool TryAlternative(const TVMFFIAny* src, std::optional<Self>* result) {
    std::optional<T> value = AnyView::CopyFromTVMFFIAny(*src).template try_cast<T>();
    if (value.has_value()) result->emplace(*std::move(value));
    return value.has_value();
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_VARIANT_H_
