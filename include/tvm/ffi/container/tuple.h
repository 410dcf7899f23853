// SPDX-License-Identifier: Apache-2.0
// Tuple<T...>: an ArrayObj of exactly sizeof...(T) elements, each with its own type.
#ifndef TVM_FFI_CONTAINER_TUPLE_H_
#define TVM_FFI_CONTAINER_TUPLE_H_

#include <tvm/ffi/container/array.h>

#include <tuple>

namespace tvm {
namespace ffi {

template <typename... T>
class Tuple;

namespace detail {

template <typename Target, typename Source>
struct TupleSubsumes : std::false_type {};
template <typename... T, typename... U>
struct TupleSubsumes<Tuple<T...>, Tuple<U...>> {
  static constexpr bool Check() {
    if constexpr (sizeof...(T) == sizeof...(U)) {
      return (type_subsumes_v<T, U> && ...);
    } else {
      return false;
    }
  }
  static constexpr bool value = Check();
};

// True if the constructor arguments Args are the elements of Tuple<T...>.  False for a single
// argument that is a Tuple and selects the copy or conversion constructor.
template <typename Self, typename... Args>
struct IsTupleOfElements : std::false_type {};
template <typename... T, typename... Args>
struct IsTupleOfElements<Tuple<T...>, Args...> {
  template <typename... U>
  static constexpr bool IsCopy() {
    return ((std::is_base_of_v<Tuple<T...>, U> || TupleSubsumes<Tuple<T...>, U>::value ||
             std::is_same_v<U, UnsafeInit>) ||
            ...);
  }
  static constexpr bool Check() {
    if constexpr (sizeof...(T) != sizeof...(Args) || sizeof...(T) == 0) {
      return false;
    } else if constexpr (sizeof...(T) == 1 &&
                         IsCopy<std::remove_cv_t<std::remove_reference_t<Args>>...>()) {
      return false;
    } else {
      return (std::is_constructible_v<T, Args> && ...);
    }
  }
  static constexpr bool value = Check();
};

}  // namespace detail

template <typename... T, typename... U>
inline constexpr bool type_subsumes_v<Tuple<T...>, Tuple<U...>> =
    detail::TupleSubsumes<Tuple<T...>, Tuple<U...>>::value;

// An immutable Array of fixed size; element I has the I-th type of T.
template <typename... T>
class Tuple : public ObjectRef {
  static_assert(detail::all_storage_enabled_v<T...>,
                "Tuple requires element types that Any can store");
  template <size_t I>
  using Element = std::tuple_element_t<I, std::tuple<T...>>;

 public:
  using ContainerType = ArrayObj;
  static constexpr bool _type_container_is_exact = false;
  static constexpr bool _type_is_nullable = false;

  Tuple() : ObjectRef(Make(Any(T())...)) {}
  explicit Tuple(UnsafeInit tag) : ObjectRef(tag) {}
  Tuple(const Tuple&) = default;
  Tuple(Tuple&&) noexcept = default;
  Tuple& operator=(const Tuple&) = default;
  Tuple& operator=(Tuple&&) noexcept = default;
  template <typename... Args,
            typename = std::enable_if_t<detail::IsTupleOfElements<Tuple, Args&&...>::value>>
  explicit Tuple(Args&&... args) : ObjectRef(Make(Any(T(std::forward<Args>(args)))...)) {}
  template <typename... U,
            typename = std::enable_if_t<!std::is_same_v<Tuple, Tuple<U...>> &&
                                        detail::TupleSubsumes<Tuple, Tuple<U...>>::value>>
  Tuple(const Tuple<U...>& other) : ObjectRef(other) {}  // NOLINT(*)
  template <typename... U,
            typename = std::enable_if_t<!std::is_same_v<Tuple, Tuple<U...>> &&
                                        detail::TupleSubsumes<Tuple, Tuple<U...>>::value>>
  Tuple(Tuple<U...>&& other) noexcept : ObjectRef(std::move(other)) {}  // NOLINT(*)

  const ArrayObj* get() const { return static_cast<const ArrayObj*>(data_.get()); }
  const ArrayObj* operator->() const { return get(); }

  template <size_t I>
  Element<I> get() const& {
    return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<Element<I>>(get()->begin()[I]);
  }
  // Returns element I.  Moves the element out of the tuple if this is the only reference to the
  // array, otherwise copies it.
  template <size_t I>
  Element<I> get() && {
    if (!unique()) return static_cast<const Tuple&>(*this).template get<I>();
    // The const_cast is safe: arrays are const only because they may be shared, and this is the
    // only reference.
    Any* elements = const_cast<Any*>(get()->begin());
    return detail::AnyUnsafe::MoveFromAnyAfterCheck<Element<I>>(std::move(elements[I]));
  }
  template <size_t I, typename U>
  void Set(U&& value) {
    // Convert the value first, because it may be an element of this tuple.
    Any element(Element<I>(std::forward<U>(value)));
    if (!unique()) data_ = ArrayObj::CopyFrom(sizeof...(T), get());
    static_cast<ArrayObj*>(data_.get())->SetItemAfterCheck(I, std::move(element));
  }

 private:
  template <typename... Elements>
  static ObjectPtr<Object> Make(Elements... elements) {
    ObjectPtr<ArrayObj> array = ArrayObj::CreateRepeated(sizeof...(T), Any());
    [[maybe_unused]] int64_t i = 0;
    (array->SetItemAfterCheck(i++, std::move(elements)), ...);
    return array;
  }
};

template <typename... Args>
Tuple(Args&&...) -> Tuple<std::remove_cv_t<std::remove_reference_t<Args>>...>;

// Return element I, like std::get.
template <size_t I, typename... T>
auto get(const Tuple<T...>& tuple) {
  return tuple.template get<I>();
}
template <size_t I, typename... T>
auto get(Tuple<T...>&& tuple) {
  return std::move(tuple).template get<I>();
}

template <typename... T>
inline constexpr bool use_default_type_traits_v<Tuple<T...>> = false;

template <typename... T>
struct TypeTraits<Tuple<T...>> : ObjectRefTypeTraitsBase<Tuple<T...>> {
  using Self = Tuple<T...>;
  using Base = ObjectRefTypeTraitsBase<Self>;

  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return HasTupleSize(src) && FindMismatch(src, IsStrict(), Indices()) < 0;
  }
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    if (!HasTupleSize(src)) return std::nullopt;
    if (FindMismatch(src, IsStrict(), Indices()) < 0) return Base::CopyFromAnyViewAfterCheck(src);
    return Convert(src, Indices());
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIArray) return TypeTraitsBase::GetMismatchTypeInfo(src);
    if (!HasTupleSize(src)) return "Array[size=" + std::to_string(Items(src)->size()) + "]";
    Any source(AnyView::CopyFromTVMFFIAny(*src));
    src = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(source);
    int64_t index = FindMismatch(src, IsCastable(), Indices());
    if (index < 0) return TypeTraitsBase::GetMismatchTypeInfo(src);
    return "Array[index " + std::to_string(index) + ": " + Describe(src, index, Indices()) + "]";
  }
  static std::string TypeStr() {
    if constexpr (sizeof...(T) == 0) {
      return "Tuple<>";
    } else {
      return detail::ContainerTypeStr<T...>("Tuple");
    }
  }
  static std::string TypeSchema() {
    if constexpr (sizeof...(T) == 0) {
      return "{\"type\":\"Tuple\",\"args\":[]}";
    } else {
      return detail::ContainerTypeSchema<T...>("Tuple");
    }
  }

 private:
  using Indices = std::index_sequence_for<T...>;

  static const ArrayObj* Items(const TVMFFIAny* src) {
    return detail::ObjectUnsafe::RawObjectPtrFromUnowned<ArrayObj>(src->v_obj);
  }
  static bool HasTupleSize(const TVMFFIAny* src) {
    return src->type_index == kTVMFFIArray && Items(src)->size() == sizeof...(T);
  }
  // Tags that select the check of FindMismatch: the element has exactly the type, or the element
  // converts to the type.
  struct IsStrict {};
  struct IsCastable {};
  template <typename E>
  static bool Fits(const Any& item, IsStrict) {
    return detail::AnyUnsafe::CheckAnyStrict<E>(item);
  }
  template <typename E>
  static bool Fits(const Any& item, IsCastable) {
    return item.template try_cast<E>().has_value();
  }
  // Returns the index of the first element that fails the check; -1 if all elements pass.
  template <typename Tag, size_t... I>
  static int64_t FindMismatch([[maybe_unused]] const TVMFFIAny* src, [[maybe_unused]] Tag tag,
                              std::index_sequence<I...>) {
    int64_t mismatch = -1;
    (void)((Fits<T>(Items(src)->begin()[I], tag) || (mismatch = static_cast<int64_t>(I), false)) &&
           ...);
    return mismatch;
  }
  template <typename E>
  static std::optional<E> Cast(detail::ElementToConvert<E> item) {
    return item.template try_cast<E>();
  }
  template <size_t... I>
  static std::optional<Self> Convert([[maybe_unused]] const TVMFFIAny* src,
                                     std::index_sequence<I...>) {
    std::tuple<std::optional<T>...> values;
    ObjectPtr<ArrayObj> array = detail::ObjectUnsafe::ObjectPtrFromUnowned<ArrayObj>(src->v_obj);
    bool all =
        ((std::get<I>(values) = Cast<T>(array->at(static_cast<int64_t>(I)))).has_value() && ...);
    if (!all) return std::nullopt;
    return Self(*std::get<I>(std::move(values))...);
  }
  template <size_t... I>
  static std::string Describe(const TVMFFIAny* src, int64_t index, std::index_sequence<I...>) {
    std::string text;
    ((static_cast<int64_t>(I) == index
          ? (void)(text = detail::AnyUnsafe::GetMismatchTypeInfo<T>(Items(src)->begin()[I]))
          : void()),
     ...);
    return text;
  }
};

}  // namespace ffi
}  // namespace tvm

template <typename... T>
struct std::tuple_size<::tvm::ffi::Tuple<T...>>
    : std::integral_constant<std::size_t, sizeof...(T)> {};
template <std::size_t I, typename... T>
struct std::tuple_element<I, ::tvm::ffi::Tuple<T...>> {
  using type = std::tuple_element_t<I, std::tuple<T...>>;
};
#endif  // TVM_FFI_CONTAINER_TUPLE_H_
