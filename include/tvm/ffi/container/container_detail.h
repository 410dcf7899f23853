// SPDX-License-Identifier: Apache-2.0
// Converting iterators, element type traits and type names shared by all containers.
#ifndef TVM_FFI_CONTAINER_CONTAINER_DETAIL_H_
#define TVM_FFI_CONTAINER_CONTAINER_DETAIL_H_

#include <tvm/ffi/any.h>

// <vector> also declares the iterator tags.  <iterator> is not included, because it includes all of
// <streambuf>.
#include <vector>

namespace tvm {
namespace ffi {
namespace detail {

// Random access iterator over the elements of a container; returns Converter::convert(element) by
// value.  TIter is a const Any*; Direction is 1, or -1 for a reverse iterator.
template <typename Converter, typename TIter, int Direction>
class ConvertingIterator {
 public:
  using value_type = decltype(Converter::convert(*std::declval<TIter>()));
  using difference_type = std::ptrdiff_t;
  using pointer = value_type*;
  using reference = value_type;
  using iterator_category = std::random_access_iterator_tag;
  using Self = ConvertingIterator;

  explicit ConvertingIterator(TIter iter) : iter_(iter) {}
  Self& operator++() { return *this += 1; }
  Self& operator--() { return *this += -1; }
  Self operator++(int) {
    Self before = *this;
    ++*this;
    return before;
  }
  Self operator--(int) {
    Self before = *this;
    --*this;
    return before;
  }
  Self& operator+=(difference_type offset) {
    iter_ += Direction * offset;
    return *this;
  }
  Self& operator-=(difference_type offset) { return *this += -offset; }
  Self operator+(difference_type offset) const { return Self(iter_ + Direction * offset); }
  Self operator-(difference_type offset) const { return Self(iter_ - Direction * offset); }
  difference_type operator-(const Self& other) const { return Direction * (iter_ - other.iter_); }
  bool operator==(const Self& other) const { return iter_ == other.iter_; }
  bool operator!=(const Self& other) const { return iter_ != other.iter_; }
  bool operator<(const Self& other) const { return *this - other < 0; }
  // Iterators of containers that own their elements return const values, so that a TensorView can
  // be constructed from `*it`.  TensorView accepts a const Tensor.  It refuses a non-const
  // temporary, because the temporary may be the only reference to the tensor.
  const value_type operator*() const { return Converter::convert(*iter_); }
  value_type operator[](difference_type offset) const { return *(*this + offset); }

 private:
  TIter iter_;
};

template <typename Converter, typename TIter>
using IterAdapter = ConvertingIterator<Converter, TIter, 1>;
template <typename Converter, typename TIter>
using ReverseIterAdapter = ConvertingIterator<Converter, TIter, -1>;

template <typename T>
inline constexpr bool storage_enabled_v = std::is_same_v<T, Any> || TypeTraits<T>::storage_enabled;
template <typename... T>
inline constexpr bool all_storage_enabled_v = (storage_enabled_v<T> && ...);
template <typename... T>
inline constexpr bool all_object_ref_v = (std::is_base_of_v<ObjectRef, T> && ...);

// True if converting an element to T runs no user code.  Conversion to a Map or Dict calls hash and
// equality hooks of keys, and other types have user-defined conversions; such code may change or
// release the container that the element is stored in.
template <typename T>
inline constexpr bool converts_without_user_code_v =
    std::is_arithmetic_v<T> || std::is_same_v<T, Any> || std::is_same_v<T, String> ||
    std::is_same_v<T, Bytes>;

// Type of the variable that holds an element during its conversion to T: a reference to the stored
// element, or an owned copy if the conversion may run user code that changes the container.
template <typename T>
using ElementToConvert = std::conditional_t<converts_without_user_code_v<T>, const Any&, Any>;

// Describes a value that does not convert to T.
template <typename T>
std::string DescribeMismatch(const TVMFFIAny* src) {
  if constexpr (std::is_same_v<T, Any>) {
    return TypeTraitsBase::GetMismatchTypeInfo(src);
  } else {
    return TypeTraits<T>::GetMismatchTypeInfo(src);
  }
}

// Describes a value that converts to no type of V: as a number out of range if one of the types
// describes it so, otherwise by its type.
template <typename... V>
std::string DescribeVariantMismatch(const TVMFFIAny* src) {
  std::string text;
  bool is_out_of_range = ((text = DescribeMismatch<V>(src), IsOutOfRange(text)) || ...);
  return is_out_of_range ? text : TypeTraitsBase::GetMismatchTypeInfo(src);
}

// Returns "name<A, B>", where A and B are the type names of V.
template <typename... V>
std::string ContainerTypeStr(const char* name) {
  std::string text = name;
  const char* separator = "<";
  ((text += separator + Type2Str<V>::v(), separator = ", "), ...);
  return text + ">";
}

// Returns the JSON type schema {"type": name, "args": [schemas of V]}.
template <typename... V>
std::string ContainerTypeSchema(const char* name) {
  std::string text = std::string("{\"type\":\"") + name + "\",\"args\":[";
  const char* separator = "";
  ((text += separator + TypeSchema<V>::v(), separator = ","), ...);
  return text + "]}";
}

}  // namespace detail

template <typename T, typename Iter>
inline constexpr bool is_valid_iterator_v =
    std::is_same_v<T, Any> ||
    std::is_convertible_v<typename std::iterator_traits<Iter>::value_type, T>;

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_CONTAINER_DETAIL_H_
