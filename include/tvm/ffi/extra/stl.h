// SPDX-License-Identifier: Apache-2.0
// Conversions of standard library containers and std::function, for parameters and results.
//
// A conversion always copies.  A call creates a new object for a standard container that is passed
// as an argument, and owns the object until the call returns.
#ifndef TVM_FFI_EXTRA_STL_H_
#define TVM_FFI_EXTRA_STL_H_

#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>

#include <array>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tvm {
namespace ffi {
namespace detail {

template <typename... T>
inline constexpr bool all_castable_v = (castable_v<T> && ...);

// Owned reference to an Array or List whose elements are being converted.  A conversion may run
// user code, and user code may change a List: see ElementToConvert.
class StlElements {
 public:
  explicit StlElements(const TVMFFIAny* src)
      : object_(ObjectUnsafe::ObjectPtrFromUnowned<SeqBaseObj>(src->v_obj)) {}
  size_t size() const { return object_->size(); }
  // Converts element i.  The caller guarantees that the sequence has an element i.
  template <typename T>
  std::optional<T> Cast(size_t i) const {
    ElementToConvert<T> item = object_->begin()[i];
    return item.template try_cast<T>();
  }
  // If element i does not convert, stores its description in *out and returns true.
  template <typename T>
  bool Mismatches(size_t i, std::string* out) const {
    Any item = object_->begin()[i];
    if (item.template try_cast<T>().has_value()) return false;
    *out = "Array[index " + std::to_string(i) + ": " +
           DescribeMismatch<T>(AnyUnsafe::TVMFFIAnyPtrFromAny(item)) + "]";
    return true;
  }

 private:
  ObjectPtr<SeqBaseObj> object_;
};

// Describes a sequence that has not as many elements as the C++ type.
TVM_FFI_FAILURE_ inline std::string DescribeSize(size_t size) {
  return "Array[size=" + std::to_string(size) + "]";
}

// Describes a sequence whose elements do not all convert to T.
template <typename T>
std::string DescribeElements(const TVMFFIAny* src) {
  StlElements elements(src);
  std::string text;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements.template Mismatches<T>(i, &text)) return text;
  }
  return TypeTraitsBase::GetMismatchTypeInfo(src);
}

// Appends the converted elements to *out.  Returns false if an element does not convert; *out is
// then incomplete.
template <typename T>
bool CastElements(const StlElements& elements, std::vector<T>* out) {
  out->reserve(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    std::optional<T> value = elements.template Cast<T>(i);
    if (!value.has_value()) return false;
    out->push_back(*std::move(value));
  }
  return true;
}

// Returns {"type":"<name>","args":[a<separator>b]} for the arguments a and b.
inline std::string StlSchema(const char* name, std::initializer_list<std::string> args,
                             const char* separator) {
  std::string text = std::string("{\"type\":\"") + name + "\",\"args\":[";
  const char* prefix = "";
  for (const std::string& arg : args) {
    text += prefix + arg;
    prefix = separator;
  }
  return text + "]}";
}

// Base of the traits of types that are converted to a new object.  Self defines MoveToAny.
template <typename Self, typename T>
struct StlCopyTraits : TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  // An AnyView of a T refers to a new object; OwnArgument returns its owner.
  static constexpr bool kViewIsNewObject = true;
  static void CopyToAnyView(const T& src, TVMFFIAny* result) { Self::MoveToAny(src, result); }

 protected:
  static void MoveArrayToAny(ObjectPtr<ArrayObj> array, TVMFFIAny* result) {
    SetObjectPayload(result, ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(array)));
  }
  template <typename Element, typename Range>
  static void MoveRangeToAny(Range&& range, TVMFFIAny* result) {
    int64_t i = 0;
    ObjectPtr<ArrayObj> array = ArrayObj::CreateRepeated(static_cast<int64_t>(range.size()), Any());
    for (auto&& item : range) array->SetItemAfterCheck(i++, Any(Element(std::move(item))));
    MoveArrayToAny(std::move(array), result);
  }
};

}  // namespace detail

template <typename T>
struct TypeTraits<std::vector<T>, std::enable_if_t<detail::castable_v<T>>>
    : detail::StlCopyTraits<TypeTraits<std::vector<T>>, std::vector<T>> {
  using Self = std::vector<T>;
  static constexpr int32_t field_static_type_index = kTVMFFIArray;

  static void MoveToAny(Self src, TVMFFIAny* result) {
    TypeTraits::template MoveRangeToAny<T>(std::move(src), result);
  }
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIArray && src->type_index != kTVMFFIList) return std::nullopt;
    std::optional<Self> result(std::in_place);
    if (!detail::CastElements(detail::StlElements(src), &*result)) return std::nullopt;
    return result;
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    bool is_sequence = src->type_index == kTVMFFIArray || src->type_index == kTVMFFIList;
    return is_sequence ? detail::DescribeElements<T>(src)
                       : TypeTraitsBase::GetMismatchTypeInfo(src);
  }
  static std::string TypeStr() { return detail::ContainerTypeStr<T>("std::vector"); }
  static std::string TypeSchema() { return detail::ContainerTypeSchema<T>("std::vector"); }
};

template <typename T, size_t N>
struct TypeTraits<std::array<T, N>, std::enable_if_t<detail::castable_v<T>>>
    : detail::StlCopyTraits<TypeTraits<std::array<T, N>>, std::array<T, N>> {
  using Self = std::array<T, N>;
  static constexpr int32_t field_static_type_index = kTVMFFIArray;

  static void MoveToAny(Self src, TVMFFIAny* result) {
    TypeTraits::template MoveRangeToAny<T>(std::move(src), result);
  }
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIArray) return std::nullopt;
    detail::StlElements elements(src);
    // Convert the elements into a vector first, because T may have no default constructor.
    std::vector<T> items;
    if (elements.size() != N || !detail::CastElements(elements, &items)) return std::nullopt;
    return Collect(&items, std::make_index_sequence<N>());
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIArray) return TypeTraitsBase::GetMismatchTypeInfo(src);
    size_t size = detail::StlElements(src).size();
    return size == N ? detail::DescribeElements<T>(src) : detail::DescribeSize(size);
  }
  static std::string TypeStr() {
    return "std::array<" + detail::Type2Str<T>::v() + ", " + std::to_string(N) + ">";
  }
  static std::string TypeSchema() {
    return detail::StlSchema("std::array", {detail::TypeSchema<T>::v(), std::to_string(N)}, ",");
  }

 private:
  template <size_t... I>
  static Self Collect([[maybe_unused]] std::vector<T>* items, std::index_sequence<I...>) {
    return Self{std::move((*items)[I])...};
  }
};

template <typename... T>
struct TypeTraits<std::tuple<T...>, std::enable_if_t<detail::all_castable_v<T...>>>
    : detail::StlCopyTraits<TypeTraits<std::tuple<T...>>, std::tuple<T...>> {
  using Self = std::tuple<T...>;
  static constexpr int32_t field_static_type_index = kTVMFFIArray;

  static void MoveToAny(Self src, TVMFFIAny* result) {
    ObjectPtr<ArrayObj> array = ArrayObj::CreateRepeated(sizeof...(T), Any());
    [[maybe_unused]] int64_t i = 0;
    std::apply([&](auto&... item) { (array->SetItemAfterCheck(i++, Any(std::move(item))), ...); },
               src);
    TypeTraits::MoveArrayToAny(std::move(array), result);
  }
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIArray) return std::nullopt;
    detail::StlElements elements(src);
    if (elements.size() != sizeof...(T)) return std::nullopt;
    return Convert(elements, std::index_sequence_for<T...>());
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIArray) return TypeTraitsBase::GetMismatchTypeInfo(src);
    detail::StlElements elements(src);
    if (elements.size() != sizeof...(T)) return detail::DescribeSize(elements.size());
    return Describe(elements, std::index_sequence_for<T...>());
  }
  static std::string TypeStr() {
    if constexpr (sizeof...(T) == 0) {
      return "std::tuple<>";
    } else {
      return detail::ContainerTypeStr<T...>("std::tuple");
    }
  }
  static std::string TypeSchema() {
    return detail::StlSchema("std::tuple", {detail::TypeSchema<T>::v()...}, ", ");
  }

 private:
  template <size_t... I>
  static std::optional<Self> Convert([[maybe_unused]] const detail::StlElements& elements,
                                     std::index_sequence<I...>) {
    std::tuple<std::optional<T>...> values;
    bool all = ((std::get<I>(values) = elements.template Cast<T>(I)).has_value() && ...);
    if (!all) return std::nullopt;
    return std::optional<Self>(std::in_place, *std::get<I>(std::move(values))...);
  }
  template <size_t... I>
  static std::string Describe([[maybe_unused]] const detail::StlElements& elements,
                              std::index_sequence<I...>) {
    std::string text = StaticTypeKey::kTVMFFIArray;
    (void)(elements.template Mismatches<T>(I, &text) || ...);
    return text;
  }
};

namespace detail {

// Traits of standard maps: converted to and from Map; a Dict is not accepted.
template <typename M>
struct StlMapTraits : StlCopyTraits<TypeTraits<M>, M> {
  using K = typename M::key_type;
  using V = typename M::mapped_type;
  static constexpr int32_t field_static_type_index = kTVMFFIMap;

  static void MoveToAny(M src, TVMFFIAny* result) {
    Map<Any, Any> map;
    for (auto& [key, value] : src) map.Set(Any(key), Any(V(std::move(value))));
    TypeTraits<Map<Any, Any>>::MoveToAny(std::move(map), result);
  }
  static std::optional<M> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIMap) return std::nullopt;
    std::optional<M> result(std::in_place);
    // Owns a second reference to the Map, so that user code in a conversion copies the Map instead
    // of changing it.
    Map<Any, Any> map(ObjectUnsafe::ObjectPtrFromUnowned<Object>(src->v_obj));
    for (const MapBaseObj::KVType& pair : *map.get()) {
      std::optional<K> key = pair.first.template try_cast<K>();
      if (!key.has_value()) return std::nullopt;
      std::optional<V> value = pair.second.template try_cast<V>();
      if (!value.has_value()) return std::nullopt;
      result->insert_or_assign(*std::move(key), *std::move(value));
    }
    return result;
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIMap) return TypeTraitsBase::GetMismatchTypeInfo(src);
    Map<Any, Any> map(ObjectUnsafe::ObjectPtrFromUnowned<Object>(src->v_obj));
    for (const MapBaseObj::KVType& pair : *map.get()) {
      if (!pair.first.template try_cast<K>().has_value()) {
        return "Map[some key is " +
               DescribeMismatch<K>(AnyUnsafe::TVMFFIAnyPtrFromAny(pair.first)) + ", V]";
      }
      if (!pair.second.template try_cast<V>().has_value()) {
        return "Map[K, some value is " +
               DescribeMismatch<V>(AnyUnsafe::TVMFFIAnyPtrFromAny(pair.second)) + "]";
      }
    }
    return TypeTraitsBase::GetMismatchTypeInfo(src);
  }
};

}  // namespace detail

template <typename K, typename V>
struct TypeTraits<std::map<K, V>, std::enable_if_t<detail::all_castable_v<K, V>>>
    : detail::StlMapTraits<std::map<K, V>> {
  static std::string TypeStr() { return detail::ContainerTypeStr<K, V>("std::map"); }
  static std::string TypeSchema() { return detail::ContainerTypeSchema<K, V>("std::map"); }
};

template <typename K, typename V>
struct TypeTraits<std::unordered_map<K, V>, std::enable_if_t<detail::all_castable_v<K, V>>>
    : detail::StlMapTraits<std::unordered_map<K, V>> {
  static std::string TypeStr() { return detail::ContainerTypeStr<K, V>("std::unordered_map"); }
  static std::string TypeSchema() {
    return detail::ContainerTypeSchema<K, V>("std::unordered_map");
  }
};

template <typename T>
struct TypeTraits<std::optional<T>, std::enable_if_t<detail::castable_v<T>>> : TypeTraitsBase {
  using Self = std::optional<T>;
  static constexpr bool storage_enabled = std::is_same_v<T, Any> || TypeTraits<T>::storage_enabled;
  static constexpr bool kViewIsNewObject = detail::view_is_new_object_v<T>;

  static void CopyToAnyView(const Self& src, TVMFFIAny* result) {
    if (src.has_value()) {
      *result = AnyView(*src).CopyToTVMFFIAny();
    } else {
      detail::SetIntPayload(result, kTVMFFINone, 0);
    }
  }
  static void MoveToAny(Self src, TVMFFIAny* result) {
    if (src.has_value()) {
      *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(*std::move(src)));
    } else {
      detail::SetIntPayload(result, kTVMFFINone, 0);
    }
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == kTVMFFINone ||
           detail::AnyUnsafe::CheckAnyViewStrict<T>(AnyView::CopyFromTVMFFIAny(*src));
  }
  static Self CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return std::nullopt;
    return Self(std::in_place,
                detail::AnyUnsafe::CopyFromAnyViewAfterCheck<T>(AnyView::CopyFromTVMFFIAny(*src)));
  }
  static Self MoveFromAnyAfterCheck(TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return std::nullopt;
    return Self(std::in_place, detail::AnyUnsafe::MoveFromAnyAfterCheck<T>(
                                   detail::AnyUnsafe::MoveTVMFFIAnyToAny(src)));
  }
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return std::optional<Self>(std::in_place);
    std::optional<T> value = AnyView::CopyFromTVMFFIAny(*src).template try_cast<T>();
    if (!value.has_value()) return std::nullopt;
    return std::optional<Self>(std::in_place, std::move(value));
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    return detail::DescribeMismatch<T>(src);
  }
  static std::string TypeStr() { return detail::ContainerTypeStr<T>("std::optional"); }
  static std::string TypeSchema() { return detail::ContainerTypeSchema<T>("std::optional"); }
};

template <typename... V>
struct TypeTraits<std::variant<V...>, std::enable_if_t<detail::all_castable_v<V...>>>
    : TypeTraitsBase {
  using Self = std::variant<V...>;
  static constexpr bool storage_enabled =
      ((std::is_same_v<V, Any> || TypeTraits<V>::storage_enabled) && ...);
  static constexpr bool kViewIsNewObject = (detail::view_is_new_object_v<V> || ...);

  static void CopyToAnyView(const Self& src, TVMFFIAny* result) {
    std::visit([&](const auto& value) { *result = AnyView(value).CopyToTVMFFIAny(); }, src);
  }
  static void MoveToAny(Self src, TVMFFIAny* result) {
    std::visit(
        [&](auto& value) {
          *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(std::move(value)));
        },
        src);
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) { return (IsStrictly<V>(src) || ...); }
  static Self CopyFromAnyViewAfterCheck(const TVMFFIAny* src) { return *TryCastFromAnyView(src); }
  static Self MoveFromAnyAfterCheck(TVMFFIAny* src) {
    Any owned = detail::AnyUnsafe::MoveTVMFFIAnyToAny(src);
    return CopyFromAnyViewAfterCheck(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(owned));
  }
  // Same as the conversion to Variant: selects the alternative with exactly the type of the value,
  // otherwise the first alternative to which the value converts.
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    std::optional<Self> result;
    if (!Try(src, /*strict=*/true, &result, Indices())) {
      Try(src, /*strict=*/false, &result, Indices());
    }
    return result;
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    return detail::DescribeVariantMismatch<V...>(src);
  }
  static std::string TypeStr() { return detail::ContainerTypeStr<V...>("std::variant"); }
  static std::string TypeSchema() {
    return detail::StlSchema("std::variant", {detail::TypeSchema<V>::v()...}, ", ");
  }

 private:
  using Indices = std::index_sequence_for<V...>;

  template <typename T>
  static bool IsStrictly([[maybe_unused]] const TVMFFIAny* src) {
    if constexpr (std::is_same_v<T, Any>) {
      return true;
    } else if constexpr (TypeTraits<T>::storage_enabled) {
      return TypeTraits<T>::CheckAnyStrict(src);
    } else {
      return false;
    }
  }
  template <size_t... I>
  static bool Try(const TVMFFIAny* src, bool strict, std::optional<Self>* result,
                  std::index_sequence<I...>) {
    return ((!(strict && !IsStrictly<V>(src)) && TryAlternative<I, V>(src, result)) || ...);
  }
  template <size_t I, typename T>
  static bool TryAlternative(const TVMFFIAny* src, std::optional<Self>* result) {
    std::optional<T> value = AnyView::CopyFromTVMFFIAny(*src).template try_cast<T>();
    if (value.has_value()) result->emplace(std::in_place_index<I>, *std::move(value));
    return value.has_value();
  }
};

// An empty std::function is converted to and from None.
template <typename R, typename... Args>
struct TypeTraits<std::function<R(Args...)>,
                  std::enable_if_t<detail::FunctionInfo<R(Args...)>::unpacked_supported>>
    : detail::StlCopyTraits<TypeTraits<std::function<R(Args...)>>, std::function<R(Args...)>> {
  using Self = std::function<R(Args...)>;
  using Info = detail::FunctionInfo<R(Args...)>;
  static constexpr int32_t field_static_type_index = kTVMFFIFunction;

  static void MoveToAny(Self src, TVMFFIAny* result) {
    Function function(nullptr);
    if (src) function = Function::FromTyped(std::move(src));
    TypeTraits<Function>::MoveToAny(std::move(function), result);
  }
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return std::optional<Self>(std::in_place);
    if (src->type_index != kTVMFFIFunction) return std::nullopt;
    return std::optional<Self>(
        std::in_place,
        TypedFunction<R(Args...)>(TypeTraits<Function>::CopyFromAnyViewAfterCheck(src)));
  }
  static std::string TypeStr() { return "std::function<" + Info::Sig() + ">"; }
  static std::string TypeSchema() {
    // The schema of std::function is the schema of a Function with another type name.
    constexpr std::string_view kFunction = "ffi.Function";
    std::string schema = Info::TypeSchema();
    return schema.replace(schema.find(kFunction), kFunction.size(), "std::function");
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STL_H_
