// SPDX-License-Identifier: Apache-2.0
// Common interface of Array and List.
#ifndef TVM_FFI_CONTAINER_SEQ_REF_DETAIL_H_
#define TVM_FFI_CONTAINER_SEQ_REF_DETAIL_H_

#include <tvm/ffi/container/seq_base.h>
#include <tvm/ffi/optional.h>

#include <vector>

namespace tvm {
namespace ffi {
namespace detail {

// CRTP base of Array and List.  Self defines these private functions, which SeqRef calls:
//   GetSeq()              returns the object, or nullptr
//   Writable(extra)       returns the object for writing, with room for `extra` more elements
//   Replace(items)        replaces all elements by `items`
template <typename Self, typename T>
class SeqRef : public ObjectRef {
 public:
  using value_type = T;
  struct ValueConverter {
    using ResultType = T;
    static T convert(const Any& item) { return AnyUnsafe::CopyFromAnyViewAfterCheck<T>(item); }
  };
  using iterator = IterAdapter<ValueConverter, const Any*>;
  using reverse_iterator = ReverseIterAdapter<ValueConverter, const Any*>;

  iterator begin() const { return iterator(First()); }
  iterator end() const { return iterator(First() + size()); }
  reverse_iterator rbegin() const { return reverse_iterator(Before(First() + size())); }
  reverse_iterator rend() const { return reverse_iterator(Before(First())); }
  size_t size() const { return seq() != nullptr ? seq()->size() : 0; }
  size_t capacity() const { return seq() != nullptr ? seq()->capacity() : 0; }
  bool empty() const { return size() == 0; }
  T operator[](int64_t i) const { return ValueConverter::convert((*Readable())[i]); }
  T at(int64_t i) const { return (*this)[i]; }
  T front() const { return ValueConverter::convert(Readable()->front()); }
  T back() const { return ValueConverter::convert(Readable()->back()); }

  void push_back(const T& item) {
    // Copy the item first, because it may be an element of this sequence.
    Any value(item);
    Write(1, "insert", [&](auto* s) { s->Append(std::move(value)); });
  }
  template <typename... Args>
  void emplace_back(Args&&... args) {
    push_back(T(std::forward<Args>(args)...));
  }
  void insert(iterator position, const T& item) {
    int64_t i = position - begin();
    Any value(item);  // a copy, because the item may be an element of this sequence
    Write(1, "insert", [&](auto* s) { s->insert(i, std::move(value)); });
  }
  template <typename Iter>
  void insert(iterator position, Iter first, Iter last) {
    int64_t i = position - begin();
    std::vector<Item> items = CopyRange(first, last);
    Write(static_cast<int64_t>(items.size()), "insert",
          [&](auto* s) { s->insert(i, items.begin(), items.end()); });
  }
  void pop_back() {
    Write(0, "pop_back", [](auto* s) { s->pop_back(); });
  }
  void erase(iterator position) {
    int64_t i = position - begin();
    Write(0, "erase", [&](auto* s) { s->erase(i); });
  }
  void erase(iterator first, iterator last) {
    int64_t from = first - begin();
    int64_t to = last - begin();
    Write(0, "erase", [&](auto* s) { s->erase(from, to); });
  }
  void resize(int64_t size) {
    if (size < 0) {
      ThrowSequenceError("ValueError",
                         std::string("cannot resize ") + Self::kArticle + " to negative size");
    }
    int64_t extra = size - static_cast<int64_t>(this->size());
    Write(extra > 0 ? extra : 0, "resize", [&](auto* s) { s->resize(size); });
  }
  void reserve(int64_t capacity) {
    if (capacity <= static_cast<int64_t>(this->capacity())) return;
    Write(capacity - static_cast<int64_t>(size()), "reserve", [](auto*) {});
  }
  void clear() {
    if (seq() != nullptr) self().Writable(0)->clear();
  }
  void Set(int64_t i, T value) {
    Write(0, "set", [&](auto* s) { s->SetItem(i, Any(std::move(value))); });
  }
  template <typename Iter>
  void Assign(Iter first, Iter last) {
    std::vector<Item> items = CopyRange(first, last);
    self().Replace(items);
  }

 protected:
  using ObjectRef::ObjectRef;
  SeqRef() = default;

  [[noreturn]] TVM_FFI_FAILURE_ static void ThrowNull(const char* kind, const char* verb) {
    ThrowSequenceError(kind, std::string("cannot ") + verb + " a null " + Self::kName);
  }

 private:
  const SeqBaseObj* seq() const { return static_cast<const Self*>(this)->GetSeq(); }
  // Alias of Any that depends on T.  The compiler then instantiates std::vector<Item> only in
  // functions that are used.
  using Item = std::conditional_t<(sizeof(T) > 0), Any, T>;
  Self& self() { return static_cast<Self&>(*this); }
  // Returns a copy of a range, because the range may be part of this sequence.  Proxy references,
  // such as the references of std::vector<bool>, are converted to values.
  template <typename Iter>
  static std::vector<Item> CopyRange(Iter first, Iter last) {
    using Traits = std::iterator_traits<Iter>;
    if constexpr (std::is_constructible_v<Item, typename Traits::reference>) {
      return std::vector<Item>(first, last);
    } else {
      std::vector<Item> items;
      for (; first != last; ++first) {
        items.push_back(Item(static_cast<typename Traits::value_type>(*first)));
      }
      return items;
    }
  }
  const Any* First() const { return seq() != nullptr ? seq()->begin() : nullptr; }
  // Returns the address of the element before `item`, for reverse iterators.  The address is
  // computed as an integer, because a pointer to before the first element, or relative to the null
  // pointer of an empty sequence, is undefined behavior.
  static const Any* Before(const Any* item) {
    return reinterpret_cast<const Any*>(reinterpret_cast<uintptr_t>(item) - sizeof(Item));
  }
  const SeqBaseObj* Readable() const {
    if (TVM_FFI_PREDICT_FALSE(seq() == nullptr)) ThrowNull("IndexError", "index");
    return seq();
  }
  template <typename F>
  void Write(int64_t extra, const char* verb, F&& change) {
    if (TVM_FFI_PREDICT_FALSE(seq() == nullptr)) ThrowNull("RuntimeError", verb);
    change(self().Writable(extra));
  }
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_SEQ_REF_DETAIL_H_
