// SPDX-License-Identifier: Apache-2.0
// Value rows: strings, Any, objects and references.
#ifndef BENCHMARKS_CPP_API_VALUES_H_
#define BENCHMARKS_CPP_API_VALUES_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/string.h>

#include "harness.h"

namespace benchmark {

using tvm::ffi::Any;
using tvm::ffi::make_object;
using tvm::ffi::ObjectPtr;
using tvm::ffi::ObjectRef;
using tvm::ffi::Shape;
using tvm::ffi::ShapeObj;
using tvm::ffi::String;

constexpr char kShortText[] = "hello";
constexpr char kLongText[] = "a text of forty bytes, which needs memory";

inline int64_t MakeString(const char* text, size_t size, int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Touch(text);
    Touch(size);
    String string(text, size);
    Touch(string);
    sum += int64_t(string.size());
  }
  return sum;
}
inline int64_t MakeShortString(int64_t repeats) { return MakeString(kShortText, 5, repeats); }
inline int64_t MakeLongString(int64_t repeats) { return MakeString(kLongText, 40, repeats); }

template <typename T>
int64_t CopyValue(const T& value, int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    T copy(value);
    Touch(copy);
    ++sum;
  }
  return sum;
}
inline int64_t CopyShortString(int64_t repeats) { return CopyValue(String(kShortText), repeats); }
inline int64_t CopyLongString(int64_t repeats) { return CopyValue(String(kLongText), repeats); }
inline int64_t CopyIntAny(int64_t repeats) { return CopyValue(Any(1), repeats); }
inline int64_t CopyObjectAny(int64_t repeats) { return CopyValue(Any(Shape({1})), repeats); }
inline int64_t CopyReference(int64_t repeats) { return CopyValue(ObjectRef(Shape({1})), repeats); }

inline int64_t CompareStrings(const char* text, int64_t repeats) {
  String lhs(text);
  String rhs(text);
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Touch(lhs);
    sum += lhs == rhs;
  }
  return sum;
}
inline int64_t CompareShortStrings(int64_t repeats) { return CompareStrings(kShortText, repeats); }
inline int64_t CompareLongStrings(int64_t repeats) { return CompareStrings(kLongText, repeats); }

inline int64_t CastAnyToInt(int64_t repeats) {
  Any any(7);
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Touch(any);
    sum += any.cast<int64_t>();
  }
  return sum;
}

inline int64_t CastAnyToReference(int64_t repeats) {
  Any any(Shape({7}));
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Touch(any);
    sum += int64_t(any.cast<Shape>().size());
  }
  return sum;
}

inline int64_t AsObject(int64_t repeats) {
  ObjectRef ref = Shape({7});
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Touch(ref);
    sum += int64_t(ref.as<ShapeObj>()->size);
  }
  return sum;
}

struct PointObj : public tvm::ffi::Object {
  int64_t x;
  int64_t y;
  PointObj(int64_t x, int64_t y) : x(x), y(y) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("benchmark.Point", PointObj, tvm::ffi::Object);
};

inline int64_t MakeObject(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    ObjectPtr<PointObj> point = make_object<PointObj>(1, 2);
    Touch(point);
    sum += point->x;
  }
  return sum;
}

}  // namespace benchmark
#endif  // BENCHMARKS_CPP_API_VALUES_H_
