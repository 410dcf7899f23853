// SPDX-License-Identifier: Apache-2.0
// What the containers share: iterators that convert, checks over element types, names.
#ifndef TVM_FFI_CONTAINER_CONTAINER_DETAIL_H_
#define TVM_FFI_CONTAINER_CONTAINER_DETAIL_H_

#include <tvm/ffi/any.h>

// Declares the iterator tags, too; <iterator> itself would bring in the whole of <streambuf>.
#include <vector>

namespace tvm {
namespace ffi {
namespace detail {

// An iterator over const Any* that yields Converter::convert(element) by value; Direction is 1, or
// -1 for a reverse iterator.
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
  // Const, as from all containers that keep the element: `TensorView view = *it` takes a const
  // Tensor, and refuses one that nobody else holds.
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

// Whether nothing but these headers runs while a value becomes a T.  Tables ask hooks of their
// keys, and other types are made by code of others, which may change or drop the container that the
// value lies in.
template <typename T>
inline constexpr bool converts_alone_v = std::is_arithmetic_v<T> || std::is_same_v<T, Any> ||
                                         std::is_same_v<T, String> || std::is_same_v<T, Bytes>;

// What a container's element is converted from: itself, or a reference of our own.
template <typename T>
using ElementToConvert = std::conditional_t<converts_alone_v<T>, const Any&, Any>;

// Name<A, B>
template <typename... V>
std::string ContainerTypeStr(const char* name) {
  std::string text = name;
  const char* separator = "<";
  ((text += separator + Type2Str<V>::v(), separator = ", "), ...);
  return text + ">";
}

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
