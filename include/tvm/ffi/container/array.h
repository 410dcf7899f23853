// SPDX-License-Identifier: Apache-2.0
// Array<T>: an immutable sequence with copy-on-write.
#ifndef TVM_FFI_CONTAINER_ARRAY_H_
#define TVM_FFI_CONTAINER_ARRAY_H_

#include <tvm/ffi/container/seq_ref_detail.h>

#include <initializer_list>

namespace tvm {
namespace ffi {

// Object to which an Array refers: a TVMFFISeqCell, followed in memory by the elements.
class ArrayObj : public SeqBaseObj {
 public:
  static constexpr int32_t _type_index = kTVMFFIArray;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIArray, ArrayObj, Object)

  // Returns a new array of capacity `cap` with the elements of `from`.  Fails: ValueError if `cap`
  // is less than the size of `from`.
  static ObjectPtr<ArrayObj> CopyFrom(int64_t cap, const ArrayObj* from) {
    CheckCapacity(cap, from);
    ObjectPtr<ArrayObj> array = Empty(cap);
    array->InitRange(0, from->begin(), from->end());
    return array;
  }
  static ObjectPtr<ArrayObj> MoveFrom(int64_t cap, ArrayObj* from) {
    CheckCapacity(cap, from);
    ObjectPtr<ArrayObj> array = Empty(cap);
    int64_t size = from->TVMFFISeqCell::size;
    from->MoveElementsTo(array->MutableBegin());
    array->TVMFFISeqCell::size = size;
    return array;
  }
  static ObjectPtr<ArrayObj> CreateRepeated(int64_t n, const Any& value) {
    ObjectPtr<ArrayObj> array = Empty(n);
    for (int64_t i = 0; i < n; ++i) array->Append(value);
    return array;
  }

 private:
  static constexpr int64_t kInitialCapacity = 4;

  static ObjectPtr<ArrayObj> Empty(int64_t n = kInitialCapacity) {
    ObjectPtr<ArrayObj> array =
        detail::SimpleObjAllocator().make_inplace_array<ArrayObj, Any>(static_cast<size_t>(n));
    array->data = array.get() + 1;
    array->TVMFFISeqCell::capacity = n;
    return array;
  }

  static void CheckCapacity(int64_t cap, const ArrayObj* from) {
    if (TVM_FFI_PREDICT_FALSE(cap < from->TVMFFISeqCell::size)) {
      detail::ThrowCapacity(cap, from->TVMFFISeqCell::size);
    }
  }

  // Returns true if this is the only reference to the array and its capacity suffices for `extra`
  // more elements.
  bool IsWritable(int64_t extra) const {
    return TVMFFISeqCell::capacity - TVMFFISeqCell::size >= extra && unique();
  }
  // Replaces *array by a copy for which IsWritable(extra) is true.
  TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE static void MakeWritable(ObjectPtr<Object>* array,
                                                             int64_t extra) {
    ArrayObj* old = static_cast<ArrayObj*>(array->get());
    int64_t need = old->TVMFFISeqCell::size + extra;
    int64_t capacity = old->TVMFFISeqCell::capacity;
    if (need > capacity) capacity = capacity * 2 > need ? capacity * 2 : need;
    *array = old->unique() ? MoveFrom(capacity, old) : CopyFrom(capacity, old);
  }

  template <typename, typename>
  friend class Array;
  template <typename, typename>
  friend class detail::SeqRef;
  friend ObjectPtr<ArrayObj> make_object<>();
};

template <>
inline ObjectPtr<ArrayObj> make_object<ArrayObj>() {
  return ArrayObj::Empty();
}

// The second template parameter is always void.  It exists because the mangled names in published
// binaries contain it.
template <typename T, typename = void>
class Array : public detail::SeqRef<Array<T>, T> {
  using Base = detail::SeqRef<Array<T>, T>;
  static_assert(detail::storage_enabled_v<T>, "Array requires an element type that Any can store");

 public:
  using ContainerType = ArrayObj;
  static constexpr bool _type_container_is_exact = false;
  static constexpr bool _type_is_nullable = false;

  Array() : Base(ObjectPtr<Object>(ArrayObj::Empty())) {}
  explicit Array(UnsafeInit tag) : Base(tag) {}
  explicit Array(ObjectPtr<Object> array) : Base(std::move(array)) {}
  Array(const Array&) = default;
  Array(Array&&) noexcept = default;
  Array& operator=(const Array&) = default;
  Array& operator=(Array&&) noexcept = default;
  template <typename U, typename = std::enable_if_t<type_subsumes_v<T, U> && !std::is_same_v<T, U>>>
  Array(const Array<U>& other) : Base(other.data_) {}  // NOLINT(*)
  template <typename U, typename = std::enable_if_t<type_subsumes_v<T, U> && !std::is_same_v<T, U>>>
  Array(Array<U>&& other) noexcept : Base(std::move(other.data_)) {}  // NOLINT(*)
  template <typename Iter, typename = typename std::iterator_traits<Iter>::iterator_category>
  Array(Iter first, Iter last) : Base(UnsafeInit{}) {
    static_assert(is_valid_iterator_v<T, Iter>, "the elements of the range do not convert to T");
    std::vector<T> items(first, last);
    FillFrom(items.begin(), items.end(), static_cast<int64_t>(items.size()));
  }
  Array(std::initializer_list<T> items) : Base(UnsafeInit{}) {  // NOLINT(*)
    FillFrom(items.begin(), items.end(), static_cast<int64_t>(items.size()));
  }
  Array(const std::vector<T>& items) : Base(UnsafeInit{}) {  // NOLINT(*)
    FillFrom(items.begin(), items.end(), static_cast<int64_t>(items.size()));
  }
  explicit Array(int64_t n, const T& value) : Base(UnsafeInit{}) {
    if (n < 0) {
      detail::ThrowSequenceError("ValueError", "cannot construct an Array of negative size");
    }
    this->data_ = ArrayObj::CreateRepeated(n, Any(value));
  }

  // Returns element i as a const value, because a TensorView can be constructed from a const Tensor
  // but not from a non-const temporary.
  const T operator[](int64_t i) const { return Base::operator[](i); }

  ArrayObj* GetArrayObj() const { return static_cast<ArrayObj*>(this->data_.get()); }
  const ArrayObj* get() const { return GetArrayObj(); }
  const ArrayObj* operator->() const { return GetArrayObj(); }
  // Returns the ArrayObj for writing.  If there are other references to the ArrayObj, first
  // replaces it by a copy.
  ArrayObj* CopyOnWrite() { return Writable(0); }

  // Returns an array that contains the result of f for each element.  If every result is identical
  // to its element, the returned array shares this object.  f takes a T, a const T& or a T&&, or is
  // a pointer to a member.
  template <typename F, typename U = std::decay_t<std::invoke_result_t<F&, T>>>
  Array<U> Map(F f) const {
    Array from = *this;  // a second reference, because f may assign another array to *this
    Array<U> result(UnsafeInit{});
    for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
      T item = from[i];
      Any before(item);
      Any mapped(U(Invoke(f, std::move(item))));
      if constexpr (type_subsumes_v<U, T>) {
        if (!result.defined() && mapped.same_as(before)) continue;
      }
      if (!result.defined()) result.InitPrefix(from, i);
      result.Writable(0)->Append(std::move(mapped));
    }
    if (result.defined()) return result;
    if constexpr (type_subsumes_v<U, T>) {
      return from;
    } else {
      return Array<U>();
    }
  }
  // Replaces each element by f(element).  If this is the only reference to the array, the elements
  // are moved into f, so that f can change unshared elements in place; if f then throws, the array
  // is null.
  template <typename F, typename = std::enable_if_t<
                            std::is_same_v<T, std::decay_t<std::invoke_result_t<F&, T>>>>>
  void MutateByApply(F f) {
    if (!this->data_.unique()) {
      *this = this->Map(std::move(f));
      return;
    }
    Array own = std::move(*this);
    Any* items = own.GetArrayObj()->MutableBegin();
    for (size_t i = 0; i < own.size(); ++i) {
      T item = detail::AnyUnsafe::MoveFromAnyAfterCheck<T>(std::move(items[i]));
      items[i] = Any(T(Invoke(f, std::move(item))));
    }
    *this = std::move(own);
  }

  // Return one array with the elements of all arguments in order; each argument is a T or a range
  // of T.  The misspelled name `Agregate` is part of the API.
  template <typename... Args>
  static size_t CalcCapacity(const Args&... args) {
    return (CountOf(args) + ... + 0);
  }
  template <typename... Args>
  static Array Agregate(Args... args) {
    Array result;
    result.reserve(static_cast<int64_t>(CalcCapacity(args...)));
    (AddTo(&result, args), ...);
    return result;
  }

  static constexpr const char* kName = "array";
  static constexpr const char* kArticle = "an Array";

 private:
  const SeqBaseObj* GetSeq() const { return GetArrayObj(); }
  template <typename Iter>
  void FillFrom(Iter first, Iter last, int64_t count) {
    ObjectPtr<ArrayObj> array = ArrayObj::Empty(count);
    array->InitRange(0, first, last);
    this->data_ = std::move(array);
  }
  ArrayObj* Writable(int64_t extra) {
    if (TVM_FFI_PREDICT_FALSE(!GetArrayObj()->IsWritable(extra))) {
      ArrayObj::MakeWritable(&this->data_, extra);
    }
    return GetArrayObj();
  }
  // Initializes this null array with a new ArrayObj that contains the first `count` elements of
  // `from`.  The new ArrayObj has capacity for all elements of `from`.
  template <typename U>
  void InitPrefix(const Array<U>& from, int64_t count) {
    ObjectPtr<ArrayObj> array = ArrayObj::Empty(static_cast<int64_t>(from.size()));
    const Any* items = from.GetArrayObj()->begin();
    array->InitRange(0, items, items + count);
    this->data_ = std::move(array);
  }
  // Same as std::invoke(f, item); defined here to avoid including the large header <functional>.
  template <typename F>
  static decltype(auto) Invoke(F& f, T&& item) {
    if constexpr (std::is_member_function_pointer_v<F>) {
      return (std::move(item).*f)();
    } else if constexpr (std::is_member_object_pointer_v<F>) {
      return std::decay_t<decltype(item.*f)>(std::move(item).*f);
    } else {
      return f(std::move(item));
    }
  }
  template <typename Items>
  void Replace(const Items& items) {
    ArrayObj* array = GetArrayObj();
    if (array != nullptr && array->unique() && array->capacity() >= items.size()) {
      array->clear();
      // Check the array again after clear(): destructors of elements may have added elements or
      // assigned another array to this variable.
      if (array == GetArrayObj() && array->empty()) {
        return array->InitRange(0, items.begin(), items.end());
      }
    }
    FillFrom(items.begin(), items.end(), static_cast<int64_t>(items.size()));
  }
  template <typename U>
  static size_t CountOf(const U& arg) {
    if constexpr (std::is_convertible_v<U, T>) {
      return 1;
    } else {
      return static_cast<size_t>(arg.size());
    }
  }
  template <typename U>
  static void AddTo(Array* result, const U& arg) {
    if constexpr (std::is_convertible_v<U, T>) {
      result->push_back(arg);
    } else {
      for (const auto& item : arg) result->push_back(item);
    }
  }

  template <typename, typename>
  friend class Array;
  template <typename, typename>
  friend class detail::SeqRef;
};

// Returns an array with the elements of lhs, followed by the elements of rhs.
template <typename T>
Array<T> Concat(Array<T> lhs, const Array<T>& rhs) {
  for (const T& item : Array<T>(rhs)) lhs.push_back(item);
  return lhs;
}

template <typename T, typename U>
inline constexpr bool type_subsumes_v<Array<T>, Array<U>> = type_subsumes_v<T, U>;
template <typename T>
inline constexpr bool use_default_type_traits_v<Array<T>> = false;

template <typename T>
struct TypeTraits<Array<T>> : SeqTypeTraitsBase<Array<T>, T, kTVMFFIArray, kTVMFFIList> {
  static std::string TypeStr() { return detail::ContainerTypeStr<T>("Array"); }
  static std::string TypeSchema() { return detail::ContainerTypeSchema<T>("ffi.Array"); }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_ARRAY_H_
