// SPDX-License-Identifier: Apache-2.0
// Shape: an owned, immutable list of extents.  ShapeView: a borrowed list of extents.
#ifndef TVM_FFI_CONTAINER_SHAPE_H_
#define TVM_FFI_CONTAINER_SHAPE_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/optional.h>

#include <vector>

namespace tvm {
namespace ffi {
namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowShapeIndex(int64_t index, size_t size) {
  ThrowFormatted("IndexError", "indexing %lld on a Shape of size %zu",
                 static_cast<long long>(index), size);  // NOLINT(*)
}

}  // namespace detail

// Borrowed list of extents.
class ShapeView {
 public:
  ShapeView() = default;
  ShapeView(const int64_t* data, size_t size) : cell_{data, size} {}
  // Borrows an initializer list.  The list exists only until the end of the full expression, so use
  // this constructor only for the argument of a call.
  ShapeView(const std::initializer_list<int64_t>& other) : cell_{other.begin(), other.size()} {}

  const int64_t* data() const { return cell_.data; }
  size_t size() const { return cell_.size; }
  bool empty() const { return cell_.size == 0; }
  const int64_t* begin() const { return cell_.data; }
  const int64_t* end() const { return cell_.data + cell_.size; }
  int64_t operator[](size_t i) const { return cell_.data[i]; }
  int64_t front() const { return at(0); }
  int64_t back() const { return at(static_cast<int64_t>(size()) - 1); }
  int64_t at(int64_t i) const {
    if (i < 0 || static_cast<size_t>(i) >= size()) detail::ThrowShapeIndex(i, size());
    return cell_.data[i];
  }
  // Returns the number of elements: the product of the extents, or 1 for an empty shape.
  int64_t Product() const {
    // Unsigned arithmetic, because the product of the first extents may overflow before an extent
    // of 0.
    uint64_t product = 1;
    for (int64_t extent : *this) product *= static_cast<uint64_t>(extent);
    return static_cast<int64_t>(product);
  }

 private:
  TVMFFIShapeCell cell_{nullptr, 0};
};

// Object to which a Shape refers.
class ShapeObj : public Object, public TVMFFIShapeCell {
 public:
  using index_type = int64_t;
  int64_t Product() const { return ShapeView(data, size).Product(); }

  static constexpr int32_t _type_index = kTVMFFIShape;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIShape, ShapeObj, Object)
};

namespace detail {

template <typename Vector>
class ShapeObjStdImpl : public ShapeObj {
 public:
  explicit ShapeObjStdImpl(Vector extents) : extents_(std::move(extents)) {
    data = extents_.data();
    size = extents_.size();
  }

 private:
  Vector extents_;
};

// Returns a new owned ShapeObj, followed in memory by `size` uninitialized extents.
inline ShapeObj* NewShapeObject(size_t size) {
  ObjectPtr<ShapeObj> shape = make_inplace_array_object<ShapeObj, int64_t>(size);
  shape->data = reinterpret_cast<int64_t*>(shape.get() + 1);
  shape->size = size;
  ShapeObj* owned = shape.get();
  ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(shape));
  return owned;
}

// Same as NewShapeObject, but also stores the address of the extents in *extents.
inline ObjectPtr<ShapeObj> MakeEmptyShape(size_t size, int64_t** extents) {
  ShapeObj* shape = NewShapeObject(size);
  *extents = reinterpret_cast<int64_t*>(shape + 1);
  return ObjectUnsafe::ObjectPtrFromOwned<ShapeObj>(shape);
}

// Returns a new Shape object with a copy of the extents.  `volatile` forces the compiler to load
// the extents one by one.  The caller has often just written them, and a wider load would stall
// until these narrower stores have completed.
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline ObjectPtr<ShapeObj> CopyShape(ShapeView from) {
  int64_t* extents;
  ObjectPtr<ShapeObj> shape = MakeEmptyShape(from.size(), &extents);
  const volatile int64_t* source = from.data();
  for (size_t i = 0; i < from.size(); ++i) extents[i] = source[i];
  return shape;
}

template <typename Iter>
ObjectPtr<ShapeObj> MakeInplaceShape(Iter begin, Iter end) {
  size_t size = 0;
  for (Iter it = begin; it != end; ++it) ++size;
  int64_t* extents;
  ObjectPtr<ShapeObj> shape = MakeEmptyShape(size, &extents);
  for (size_t i = 0; i < size; ++i, ++begin) extents[i] = static_cast<int64_t>(*begin);
  return shape;
}

// Writes the compact row-major strides for `shape`, in elements.
inline void FillStridesFromShape(ShapeView shape, int64_t* out_strides) {
  uint64_t stride = 1;  // unsigned, because the product of extents may overflow
  for (size_t i = shape.size(); i > 0; --i) {
    out_strides[i - 1] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(shape[i - 1]);
  }
}

inline ObjectPtr<ShapeObj> MakeStridesFromShape(ShapeView shape) {
  int64_t* strides;
  ObjectPtr<ShapeObj> result = MakeEmptyShape(shape.size(), &strides);
  FillStridesFromShape(shape, strides);
  return result;
}

}  // namespace detail

// Owned, immutable list of the extents of a tensor, each at least 0.
class Shape : public ObjectRef {
 public:
  using index_type = int64_t;

  Shape() : Shape(ShapeView()) {}
  template <typename Iter, typename = typename std::iterator_traits<Iter>::value_type>
  Shape(Iter begin, Iter end) : Shape(detail::MakeInplaceShape(begin, end)) {}
  template <typename T, typename = std::enable_if_t<std::is_same_v<T, int64_t>>>
  Shape(const Array<T>& extents) : Shape(extents.begin(), extents.end()) {}    // NOLINT(*)
  Shape(std::initializer_list<int64_t> extents) : Shape(FromList(extents)) {}  // NOLINT(*)
  template <typename T, typename = std::enable_if_t<std::is_same_v<T, int64_t>>>
  Shape(std::vector<T> extents)  // NOLINT(*)
      : Shape(ObjectPtr<ShapeObj>(
            make_object<detail::ShapeObjStdImpl<std::vector<T>>>(std::move(extents)))) {}
  Shape(ShapeView extents) : Shape(detail::CopyShape(extents)) {}  // NOLINT(*)
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Shape, ObjectRef, ShapeObj);

  static Shape StridesFromShape(ShapeView shape) {
    return Shape(detail::MakeStridesFromShape(shape));
  }

  operator ShapeView() const { return ShapeView(get()->data, get()->size); }  // NOLINT(*)
  const int64_t* data() const { return get()->data; }
  size_t size() const { return get()->size; }
  bool empty() const { return size() == 0; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size(); }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t at(int64_t i) const { return ShapeView(*this).at(i); }
  int64_t front() const { return at(0); }
  int64_t back() const { return ShapeView(*this).back(); }
  int64_t Product() const { return get()->Product(); }

 private:
  explicit Shape(ObjectPtr<ShapeObj> shape) : ObjectRef(ObjectPtr<Object>(std::move(shape))) {}
  // Returns a new Shape object with the extents of a list.  The loop is inlined, because the caller
  // knows the number of extents at compile time.  `volatile` forces the compiler to store the
  // extents one by one, because in every second object a wider store would cross a cache line.
  static ObjectPtr<ShapeObj> FromList(std::initializer_list<int64_t> list) {
    int64_t* extents;
    ObjectPtr<ShapeObj> shape = detail::MakeEmptyShape(list.size(), &extents);
    volatile int64_t* target = extents;
#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (int64_t extent : list) *target++ = extent;
    return shape;
  }
};

namespace detail {

template <typename Stream>
Stream& PrintShape(Stream& out, ShapeView shape) {
  out << "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out << ", ";
    out << shape[i];
  }
  out << "]";
  return out;
}
inline MessageStream& operator<<(MessageStream& out, const Shape& shape) {
  return PrintShape(out, shape);
}
inline MessageStream& operator<<(MessageStream& out, const ShapeView& shape) {
  return PrintShape(out, shape);
}

}  // namespace detail

// Prints the extents as `[2, 3]`.
template <typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const Shape& shape) {
  return detail::PrintShape(out, shape);
}
template <typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const ShapeView& shape) {
  return detail::PrintShape(out, shape);
}

// Conversion to Shape also accepts an Array or List of integers.
template <>
inline constexpr bool use_default_type_traits_v<Shape> = false;
template <>
struct TypeTraits<Shape> : ObjectRefWithFallbackTraitsBase<Shape, Array<int64_t>> {
  static constexpr int32_t field_static_type_index = kTVMFFIShape;
  template <typename T>
  static Shape ConvertFallbackValue(const Array<T>& extents) {
    return Shape(extents);
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_SHAPE_H_
