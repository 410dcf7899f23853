// SPDX-License-Identifier: Apache-2.0
// Services for objects: text, comparison, hash and copy by content. C++ functions of the runtime,
// called through the headers of both implementations.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cmath>
#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;

// ---- Published hashes ---------------------------------------------------------------------------

// Values by the names that the list of published hashes uses.
Any MakeContent(Any, String name) {
  if (name == "int 1") return 1;
  if (name == "float 1.0") return 1.0;
  if (name == "float -0.0") return -0.0;
  if (name == "float nan") return std::nan("");
  if (name == "str 'abc'") return String("abc");
  if (name == "str 'hello world'") return String("hello world");
  if (name == "array [1,2]") return Array<int64_t>{1, 2};
  if (name == "map {a:1}") return Map<String, int64_t>{{"a", 1}};
  if (name == "shape (1,2)") return Shape{1, 2};
  if (name == "list [1,2]") return List<int64_t>{1, 2};
  CHECK_EQ(name, "None");
  return nullptr;
}
Any CheckRecursiveHash(Any value, String name, int64_t hash) {
  CHECK_EQ(RecursiveHash(value), hash);
  CHECK(RecursiveEq(value, MakeContent(nullptr, name)));
  return value;
}

// ---- Nested values ------------------------------------------------------------------------------

Any MakeNestedValue(Any) {
  return Array<Any>{1, String("text"), Map<String, Any>{{"key", List<Any>{2.5, nullptr}}},
                    Dict<Any, Any>{{true, Shape{3}}}};
}
Any CheckNestedValue(Any value) {
  CHECK_EQ(ReprPrint(value), "(1, \"text\", {\"key\": [2.5, None]}, {True: Shape(3)})");
  Any own = MakeNestedValue(nullptr);
  CHECK(RecursiveEq(value, own));
  CHECK_EQ(RecursiveHash(value), RecursiveHash(own));
  CHECK(!AnyEqual()(value, own));
  return value;
}
// The copy shares no mutable object with the original.
Any CopyDeeply(Any value) {
  Any copy = DeepCopy(value);
  CHECK(RecursiveEq(copy, value));
  auto list = copy.cast<Array<Any>>()[2].cast<Map<String, List<Any>>>()["key"];
  list.push_back(3);
  CHECK(!RecursiveEq(copy, value));
  list.pop_back();
  return copy;
}
Array<Any> MakeOrdered(Any) { return {Array<Any>{1, 2}, Array<Any>{1, 2, 0}, Array<Any>{1, 3}}; }
void CheckOrdered(Array<Any> ordered) {
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      CHECK_EQ(RecursiveLt(ordered[i], ordered[j]), i < j);
      CHECK_EQ(RecursiveGe(ordered[i], ordered[j]), i >= j);
    }
  }
}

// ---- Registered classes -------------------------------------------------------------------------

class PointObj : public Object {
 public:
  int64_t x = 0;
  String name;
  Array<Any> children;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("exchange.Point", PointObj, Object);
};
bool RegisterPoint() {
  reflection::ObjectDef<PointObj>()
      .def_rw("x", &PointObj::x)
      .def_ro("name", &PointObj::name, reflection::compare(false))
      .def_ro("children", &PointObj::children);
  return true;
}
ObjectRef NewPoint(int64_t x, String name, Array<Any> children) {
  ObjectPtr<PointObj> point = make_object<PointObj>();
  point->x = x;
  point->name = std::move(name);
  point->children = std::move(children);
  return ObjectRef(point);
}
ObjectRef MakePoint(Any) {
  [[maybe_unused]] static bool registered = RegisterPoint();
  return NewPoint(1, "outer", {NewPoint(2, "inner", {}), 3});
}
Any CheckPoint(Any value) {
  CHECK_EQ(ReprPrint(value),
           "exchange.Point(x=1, name=\"outer\", children=(exchange.Point(x=2, name=\"inner\", "
           "children=()), 3))");
  Any own = NewPoint(1, "another name", {NewPoint(2, "inner", {}), 3});
  CHECK(RecursiveEq(value, own));
  CHECK_EQ(RecursiveHash(value), RecursiveHash(own));
  CHECK(!RecursiveEq(value, NewPoint(1, "outer", {NewPoint(2, "inner", {}), 4})));
  Any copy = DeepCopy(value);
  CHECK(!copy.same_as(value));
  CHECK_EQ(copy.as<PointObj>()->children[0].as<PointObj>()->name, "inner");
  return copy;
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_content, exchange::MakeContent)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_recursive_hash, exchange::CheckRecursiveHash)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_nested_value, exchange::MakeNestedValue)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_nested_value, exchange::CheckNestedValue)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(copy_deeply, exchange::CopyDeeply)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_ordered, exchange::MakeOrdered)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_ordered, exchange::CheckOrdered)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_point, exchange::MakePoint)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_point, exchange::CheckPoint)
