// SPDX-License-Identifier: Apache-2.0
// List<T>: a mutable, growable sequence; all references to it see changes.
#ifndef TVM_FFI_CONTAINER_LIST_H_
#define TVM_FFI_CONTAINER_LIST_H_

#include <tvm/ffi/container/array.h>

#include <initializer_list>

namespace tvm {
namespace ffi {

// Object to which a List refers: a TVMFFISeqCell that points to a separately allocated, growable
// buffer.
class ListObj : public SeqBaseObj {
 public:
  // The deleter of the buffer is operator delete.  When the list grows, inlined code in other
  // libraries allocates the new buffer with operator new and keeps the deleter.
  ListObj() { data_deleter = ::operator delete; }

  static constexpr int32_t _type_index = kTVMFFIList;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIList, ListObj, Object)

  // Grows the capacity to at least n elements.
  TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE void Reserve(int64_t n) {
    if (n <= TVMFFISeqCell::capacity) return;
    if (n > INT64_MAX / static_cast<int64_t>(sizeof(Any))) throw std::bad_alloc();
    Any* target = static_cast<Any*>(::operator new(static_cast<size_t>(n) * sizeof(Any)));
    int64_t count = TVMFFISeqCell::size;
    MoveElementsTo(target);
    data_deleter(data);
    data_deleter = ::operator delete;
    data = target;
    TVMFFISeqCell::size = count;
    TVMFFISeqCell::capacity = n;
  }
  static ObjectPtr<ListObj> CreateRepeated(int64_t n, const Any& value) {
    ObjectPtr<ListObj> list = make_object<ListObj>();
    list->Reserve(n);
    for (int64_t i = 0; i < n; ++i) list->Append(value);
    return list;
  }

 private:
  template <typename, typename>
  friend class List;
  template <typename, typename>
  friend class detail::SeqRef;
};

// The second template parameter is always void.  It exists because the mangled names in published
// binaries contain it.
template <typename T, typename = void>
class List : public detail::SeqRef<List<T>, T> {
  using Base = detail::SeqRef<List<T>, T>;
  static_assert(detail::storage_enabled_v<T>, "List requires an element type that Any can store");

 public:
  using ContainerType = ListObj;
  static constexpr bool _type_container_is_exact = false;
  static constexpr bool _type_is_nullable = false;

  List() : Base(ObjectPtr<Object>(make_object<ListObj>())) {}
  explicit List(UnsafeInit tag) : Base(tag) {}
  explicit List(ObjectPtr<Object> list) : Base(std::move(list)) {}
  List(const List&) = default;
  List(List&&) noexcept = default;
  List& operator=(const List&) = default;
  List& operator=(List&&) noexcept = default;
  template <typename U, typename = std::enable_if_t<type_subsumes_v<T, U> && !std::is_same_v<T, U>>>
  List(const List<U>& other) : Base(other.data_) {}  // NOLINT(*)
  template <typename U, typename = std::enable_if_t<type_subsumes_v<T, U> && !std::is_same_v<T, U>>>
  List(List<U>&& other) noexcept : Base(std::move(other.data_)) {}  // NOLINT(*)
  template <typename Iter, typename = typename std::iterator_traits<Iter>::iterator_category>
  List(Iter first, Iter last) : List() {
    static_assert(is_valid_iterator_v<T, Iter>, "the elements of the range do not convert to T");
    for (; first != last; ++first) this->push_back(T(*first));
  }
  List(std::initializer_list<T> items) : List(items.begin(), items.end()) {}  // NOLINT(*)
  List(const std::vector<T>& items) : List(items.begin(), items.end()) {}     // NOLINT(*)
  explicit List(int64_t n, const T& value) : List() {
    if (n < 0) {
      detail::ThrowSequenceError("ValueError", "cannot construct a List of negative size");
    }
    GetListObj()->Reserve(n);
    for (int64_t i = 0; i < n; ++i) this->push_back(value);
  }

  ListObj* GetListObj() const { return static_cast<ListObj*>(this->data_.get()); }
  ListObj* get() const { return GetListObj(); }
  ListObj* operator->() const { return GetListObj(); }

  static constexpr const char* kName = "list";
  static constexpr const char* kArticle = "a List";

 private:
  const SeqBaseObj* GetSeq() const { return GetListObj(); }
  ListObj* Writable(int64_t extra) {
    ListObj* list = GetListObj();
    int64_t need = static_cast<int64_t>(list->size()) + extra;
    int64_t capacity = static_cast<int64_t>(list->capacity());
    if (need > capacity) list->Reserve(capacity * 2 > need ? capacity * 2 : need);
    return list;
  }
  template <typename Items>
  void Replace(const Items& items) {
    if (GetListObj() != nullptr) GetListObj()->clear();
    // Check the list again after clear(): destructors of elements may have set this variable to
    // null.
    if (GetListObj() == nullptr) this->data_ = make_object<ListObj>();
    ListObj* list = Writable(static_cast<int64_t>(items.size()));
    list->InitRange(static_cast<int64_t>(list->size()), items.begin(), items.end());
  }

  template <typename, typename>
  friend class List;
  template <typename, typename>
  friend class detail::SeqRef;
};

template <typename T, typename U>
inline constexpr bool type_subsumes_v<List<T>, List<U>> = type_subsumes_v<T, U>;
template <typename T>
inline constexpr bool use_default_type_traits_v<List<T>> = false;

template <typename T>
struct TypeTraits<List<T>> : SeqTypeTraitsBase<List<T>, T, kTVMFFIList, kTVMFFIArray> {
  static std::string TypeStr() { return detail::ContainerTypeStr<T>("List"); }
  static std::string TypeSchema() { return detail::ContainerTypeSchema<T>("ffi.List"); }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_LIST_H_
