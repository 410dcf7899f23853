// SPDX-License-Identifier: Apache-2.0
// SeqBaseObj: the sequence of Any values in an Array or List.
//
// No function here grows the buffer; callers reserve capacity first.
#ifndef TVM_FFI_CONTAINER_SEQ_BASE_H_
#define TVM_FFI_CONTAINER_SEQ_BASE_H_

#include <tvm/ffi/container/container_detail.h>

namespace tvm {
namespace ffi {
namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowIndexError(const char* message) {
  ThrowError("IndexError", std::string_view(message));
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowIndexBounds(int64_t index, int64_t size) {
  ThrowFormatted("IndexError", "Index %lld out of bounds %lld", static_cast<long long>(index),
                 static_cast<long long>(size));  // NOLINT(*)
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowInsertBounds(int64_t index, int64_t size) {
  ThrowFormatted("IndexError", "Index %lld out of bounds [0, %lld]", static_cast<long long>(index),
                 static_cast<long long>(size));  // NOLINT(*)
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowEraseRange(int64_t first, int64_t last,
                                                          int64_t size) {
  ThrowFormatted("IndexError", "Erase range [%lld, %lld) out of bounds %lld",
                 static_cast<long long>(first), static_cast<long long>(last),  // NOLINT(*)
                 static_cast<long long>(size));                                // NOLINT(*)
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowCapacity(int64_t capacity, int64_t size) {
  ThrowFormatted("ValueError", "a capacity of %lld is too small for %lld elements",
                 static_cast<long long>(capacity), static_cast<long long>(size));  // NOLINT(*)
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowSequenceError(const char* kind,
                                                             std::string_view message) {
  ThrowError(kind, message);
}

}  // namespace detail

// Common base of ArrayObj and ListObj: the TVMFFISeqCell (the fields after the object header) and
// operations on its elements.
class SeqBaseObj : public Object, protected TVMFFISeqCell {
 public:
  using NestsDeeply_ = void;  // see release_detail.h
  SeqBaseObj() : TVMFFISeqCell{} {}
  SeqBaseObj(const SeqBaseObj&) = delete;
  SeqBaseObj& operator=(const SeqBaseObj&) = delete;
  ~SeqBaseObj() {
    while (!empty()) DropLast();
    if (data_deleter != nullptr) data_deleter(data);
  }

  size_t size() const { return static_cast<size_t>(TVMFFISeqCell::size); }
  size_t capacity() const { return static_cast<size_t>(TVMFFISeqCell::capacity); }
  bool empty() const { return TVMFFISeqCell::size == 0; }
  const Any* begin() const { return static_cast<const Any*>(data); }
  const Any* end() const { return begin() + TVMFFISeqCell::size; }
  const Any& at(int64_t i) const { return (*this)[i]; }
  const Any& operator[](int64_t i) const {
    CheckIndex(i);
    return begin()[i];
  }
  const Any& front() const {
    if (empty()) detail::ThrowIndexError("front() on empty sequence");
    return *begin();
  }
  const Any& back() const {
    if (empty()) detail::ThrowIndexError("back() on empty sequence");
    return *(end() - 1);
  }

  // Removes all elements.  The sequence is not empty afterwards if an element's destructor added
  // elements.
  void clear() { DropFrom(0); }
  void pop_back() {
    if (empty()) detail::ThrowIndexError("pop_back on empty sequence");
    DropLast();
  }
  void SetItem(int64_t i, Any value) {
    CheckIndex(i);
    MutableBegin()[i] = std::move(value);
  }
  void SetItemAfterCheck(int64_t i, Any value) { MutableBegin()[i] = std::move(value); }
  // Appends the elements of the range [first, last).  `start` is the current size of the sequence.
  template <typename Iter>
  void InitRange(int64_t start, Iter first, Iter last) {
    using Traits = std::iterator_traits<Iter>;
    // Convert to the value type first: an Any cannot be constructed from the proxy that
    // std::vector<bool> uses as reference type.
    using Item = std::conditional_t<std::is_constructible_v<Any, typename Traits::reference>,
                                    typename Traits::reference, typename Traits::value_type>;
    for (Any* slot = MutableBegin() + start; first != last; ++first) {
      new (slot++) Any(static_cast<Item>(*first));
      ++TVMFFISeqCell::size;
    }
  }
  // Erased elements are destroyed last, when the sequence is in a valid state, because a destructor
  // may use the sequence.
  void erase(int64_t i) {
    CheckIndex(i);
    Any erased = std::move(MutableBegin()[i]);
    CloseGap(i, i + 1);
  }
  void erase(int64_t first, int64_t last) {
    if (first < 0 || last < first || last > TVMFFISeqCell::size) {
      detail::ThrowEraseRange(first, last, TVMFFISeqCell::size);
    }
    Any* erased = new Any[static_cast<size_t>(last - first)];
    for (int64_t i = first; i < last; ++i) erased[i - first].swap(MutableBegin()[i]);
    CloseGap(first, last);
    delete[] erased;
  }
  void insert(int64_t i, Any value) {
    CheckPosition(i);
    AppendNone();
    Any* items = MutableBegin();
    for (int64_t from = TVMFFISeqCell::size - 1; from > i; --from) {
      items[from] = std::move(items[from - 1]);
    }
    items[i] = std::move(value);
  }
  template <typename Iter>
  void insert(int64_t i, Iter first, Iter last) {
    int64_t old_size = TVMFFISeqCell::size;
    CheckPosition(i);
    // Append the elements first and then rotate them to position i, because the range may be part
    // of this sequence.
    InitRange(old_size, first, last);
    ReverseRange(i, old_size);
    ReverseRange(old_size, TVMFFISeqCell::size);
    ReverseRange(i, TVMFFISeqCell::size);
  }
  void Reverse() { ReverseRange(0, TVMFFISeqCell::size); }
  void resize(int64_t new_size) {
    if (new_size < 0) detail::ThrowSequenceError("ValueError", "Cannot resize to negative size");
    if (TVMFFISeqCell::size > new_size) return DropFrom(new_size);
    while (TVMFFISeqCell::size < new_size) AppendNone();
  }

 protected:
  Any* MutableBegin() const { return static_cast<Any*>(data); }
  Any* MutableEnd() const { return MutableBegin() + TVMFFISeqCell::size; }
  void CheckIndex(int64_t i) const {
    // The cast converts a negative index to a large positive number, so that one comparison checks
    // both bounds.
    if (TVM_FFI_PREDICT_FALSE(static_cast<uint64_t>(i) >= size())) {
      detail::ThrowIndexBounds(i, TVMFFISeqCell::size);
    }
  }
  template <typename T>
  void Append(T&& value) {
    new (MutableEnd()) Any(std::forward<T>(value));
    ++TVMFFISeqCell::size;
  }
  // Moves all elements as raw bytes to `target`.  The capacity of `target` must suffice for the
  // elements.
  void MoveElementsTo(Any* target) {
    if (!empty()) std::memcpy(static_cast<void*>(target), data, size() * sizeof(Any));
    TVMFFISeqCell::size = 0;
  }

 private:
  void AppendNone() { Append(Any()); }
  // Moves the elements from index `last` on to index `first`, over the elements in [first, last),
  // which must be None.
  void CloseGap(int64_t first, int64_t last) {
    Any* items = MutableBegin();
    size_t num_after = static_cast<size_t>(TVMFFISeqCell::size - last);
    std::memmove(static_cast<void*>(items + first), items + last, num_after * sizeof(Any));
    TVMFFISeqCell::size -= last - first;
  }
  void DropLast() {
    --TVMFFISeqCell::size;
    MutableEnd()->~Any();
  }
  // Removes the elements from index new_size on.  Elements that a destructor adds are not removed,
  // so that the loop ends.  keep_alive owns the sequence in case a destructor releases the caller's
  // reference.
  void DropFrom(int64_t new_size) {
    ObjectPtr<SeqBaseObj> keep_alive = detail::ObjectUnsafe::ObjectPtrFromUnowned<SeqBaseObj>(
        detail::ObjectUnsafe::GetHeader(this));
    for (int64_t i = TVMFFISeqCell::size; i-- > new_size;) {
      if (i + 1 == TVMFFISeqCell::size) {
        DropLast();
      } else if (i < TVMFFISeqCell::size) {
        erase(i);
      }
    }
  }
  // Checks the position of an insertion.  Fails: IndexError unless i is from 0 to the size.
  void CheckPosition(int64_t i) const {
    if (i < 0 || i > TVMFFISeqCell::size) detail::ThrowInsertBounds(i, TVMFFISeqCell::size);
  }
  void ReverseRange(int64_t first, int64_t last) {
    for (Any* items = MutableBegin(); first < last - 1; ++first, --last) {
      items[first].swap(items[last - 1]);
    }
  }
};

// Conversion to Seq, an Array<T> or List<T>.  A source object of the same container type whose
// elements are all of type T is shared.  Otherwise the elements are converted into a new sequence.
// An object of the other container type (other_index) is always copied.
template <typename Seq, typename T, int32_t seq_index, int32_t other_index>
struct SeqTypeTraitsBase : ObjectRefTypeTraitsBase<Seq> {
  using Base = ObjectRefTypeTraitsBase<Seq>;
  static constexpr int32_t field_static_type_index = seq_index;

  static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index != seq_index) return false;
    if constexpr (!std::is_same_v<T, Any>) {
      const Any* item = static_cast<const Any*>(Cell(src)->data);
      for (const Any* end = item + Size(src); item != end; ++item) {
        if (!detail::AnyUnsafe::CheckAnyStrict<T>(*item)) return false;
      }
    }
    return true;
  }
  static std::optional<Seq> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index != seq_index && src->type_index != other_index) return std::nullopt;
    if (CheckAnyStrict(src)) return Base::CopyFromAnyViewAfterCheck(src);
    Any source(AnyView::CopyFromTVMFFIAny(*src));
    src = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(source);
    Seq result;
    if constexpr (std::is_same_v<T, Any>) {
      for (int64_t i = 0; i < Size(src); ++i) result.push_back(Item(src, i));
    } else {
      result.reserve(Size(src));
      for (int64_t i = 0; i < Size(src); ++i) {
        detail::ElementToConvert<T> item = Item(src, i);
        std::optional<T> value = item.template try_cast<T>();
        if (!value.has_value()) return std::nullopt;
        result.push_back(*std::move(value));
      }
    }
    return result;
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if constexpr (!std::is_same_v<T, Any>) {
      if (src->type_index == seq_index || src->type_index == other_index) {
        Any source(AnyView::CopyFromTVMFFIAny(*src));
        const TVMFFIAny* seq = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(source);
        for (int64_t i = 0; i < Size(seq); ++i) {
          Any item = Item(seq, i);
          if (item.template try_cast<T>().has_value()) continue;
          // The message names the container type of Seq, even if the source has the other type.
          return (seq_index == kTVMFFIArray ? "Array[index " : "List[index ") + std::to_string(i) +
                 ": " + detail::AnyUnsafe::GetMismatchTypeInfo<T>(item) + "]";
        }
      }
    }
    return TypeTraitsBase::GetMismatchTypeInfo(src);
  }

 private:
  static const TVMFFISeqCell* Cell(const TVMFFIAny* src) {
    return reinterpret_cast<const TVMFFISeqCell*>(src->v_obj + 1);
  }
  static int64_t Size(const TVMFFIAny* src) { return Cell(src)->size; }
  static const Any& Item(const TVMFFIAny* src, int64_t i) {
    return static_cast<const Any*>(Cell(src)->data)[i];
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_SEQ_BASE_H_
