// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/registry.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "nesting.h"
#include "thrown.h"

namespace {

using namespace tvm::ffi;
using reflection::AccessPath;
using reflection::AccessStep;
namespace refl = tvm::ffi::reflection;

using PrintPart = TypedFunction<String(AnyView)>;

class PointObj : public Object {
 public:
  int64_t x = 1;
  String label = "a";
  Any rest;
  int64_t hidden = 9;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.repr.Point", PointObj, Object);
};
class Point3Obj : public PointObj {
 public:
  double z = 2.5;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.Point3", Point3Obj, PointObj);
};
class BareObj : public Object {
 public:
  int64_t hidden = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.Bare", BareObj, Object);
};
class UnregisteredObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO("test.repr.Unregistered", UnregisteredObj, Object);
};
// An object that prints as <child>.
class HookedObj : public Object {
 public:
  Any part;
  explicit HookedObj(Any part) : part(std::move(part)) {}
  static String Print(const HookedObj* self, const PrintPart& print) {
    return "<" + std::string(print(self->part)) + ">";
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.Hooked", HookedObj, Object);
};
// An object whose repr hook raises an error.
class FailingObj : public Object {
 public:
  Any part;
  explicit FailingObj(Any part) : part(std::move(part)) {}
  static String Print(const FailingObj* self, const PrintPart& print) {
    print(self->part);
    TVM_FFI_THROW(KeyError) << "no text";
    TVM_FFI_UNREACHABLE();
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.Failing", FailingObj, Object);
};
// An object that prints "error" for a child that fails to print, then prints the other child.
class TolerantObj : public Object {
 public:
  Any part;
  Any other;
  TolerantObj(Any part, Any other) : part(std::move(part)), other(std::move(other)) {}
  static String Print(const TolerantObj* self, const PrintPart& print) {
    std::string text;
    try {
      text = print(self->part);
    } catch (const Error&) {
      text = "error";
    }
    return text + " " + std::string(print(self->other));
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.Tolerant", TolerantObj, Object);
};
// An object whose repr hook empties the list that contains it.
class MeddlingObj : public Object {
 public:
  List<Any> list;
  explicit MeddlingObj(List<Any> list) : list(std::move(list)) {}
  static String Print(const MeddlingObj* self, const PrintPart& print) {
    List<Any>(self->list).clear();
    return "meddling";
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.Meddling", MeddlingObj, Object);
};
class KeepingObj : public Object {
 public:
  static PrintPart& kept() {
    static PrintPart print;
    return print;
  }
  static String Print(const KeepingObj*, const PrintPart& print) {
    kept() = print;
    return "kept";
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.Keeping", KeepingObj, Object);
};
class WrongHookObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.WrongHook", WrongHookObj, Object);
};
class ColorObj : public EnumObj {
 public:
  using EnumObj::EnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.Color", ColorObj, EnumObj);
};
class LevelObj : public IntEnumObj {
 public:
  using IntEnumObj::IntEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.repr.Level", LevelObj, IntEnumObj);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PointObj>()
      .def_rw("x", &PointObj::x)
      .def_rw("label", &PointObj::label)
      .def_rw("hidden", &PointObj::hidden, refl::repr(false))
      .def_rw("rest", &PointObj::rest);
  refl::ObjectDef<Point3Obj>().def_ro("z", &Point3Obj::z);
  refl::ObjectDef<BareObj>().def_ro("hidden", &BareObj::hidden, refl::repr(false));
  refl::ObjectDef<HookedObj>(refl::init(false)).def_type_attr("__ffi_repr__", &HookedObj::Print);
  refl::ObjectDef<FailingObj>(refl::init(false)).def_type_attr("__ffi_repr__", &FailingObj::Print);
  refl::ObjectDef<TolerantObj>(refl::init(false))
      .def_type_attr("__ffi_repr__", &TolerantObj::Print);
  refl::ObjectDef<MeddlingObj>(refl::init(false))
      .def_type_attr("__ffi_repr__", &MeddlingObj::Print);
  refl::ObjectDef<KeepingObj>().def_type_attr("__ffi_repr__", &KeepingObj::Print);
  refl::ObjectDef<WrongHookObj>().def_type_attr("__ffi_repr__", 5);
  refl::ObjectDef<ColorObj>(refl::init(false));
  refl::ObjectDef<LevelObj>(refl::init(false));
  refl::EnumDef<ColorObj>("red");
  refl::EnumDef<LevelObj>("low", 10);
}

template <typename T, typename... Args>
Any Make(Args&&... args) {
  return ObjectRef(ObjectPtr<Object>(make_object<T>(std::forward<Args>(args)...)));
}
std::string Repr(const Any& value) { return ReprPrint(value); }

TEST_CASE("plain values") {
  CHECK_EQ(Repr(nullptr), "None");
  CHECK_EQ(Repr(true), "True");
  CHECK_EQ(Repr(false), "False");
  CHECK_EQ(Repr(0), "0");
  CHECK_EQ(Repr(INT64_MIN), "-9223372036854775808");
  CHECK_EQ(Repr(BigInt(1) << 200), "1606938044258990275541962092341162602522202993782792835301376");
  CHECK_EQ(Repr(-(BigInt(1) << 64)), "-18446744073709551616");
  CHECK_EQ(Repr(static_cast<void*>(nullptr)), "void*");
  CHECK_EQ(Repr(reinterpret_cast<void*>(0x1234)), "void*");
}

TEST_CASE("floats have six digits and no trailing zeros") {
  CHECK_EQ(Repr(1.0), "1");
  CHECK_EQ(Repr(-0.0), "-0");
  CHECK_EQ(Repr(0.1), "0.1");
  CHECK_EQ(Repr(3.14159265358979), "3.14159");
  CHECK_EQ(Repr(1234567.0), "1.23457e+06");
  CHECK_EQ(Repr(1e20), "1e+20");
  CHECK_EQ(Repr(1e-5), "1e-05");
  CHECK_EQ(Repr(0.0001), "0.0001");
  CHECK_EQ(Repr(-1.7976931348623157e308), "-1.79769e+308");
  CHECK_EQ(Repr(NAN), "nan");
  CHECK_EQ(Repr(-INFINITY), "-inf");
}

TEST_CASE("strings") {
  CHECK_EQ(Repr(""), "\"\"");
  CHECK_EQ(Repr("a/b"), "\"a/b\"");
  CHECK_EQ(Repr("a\"\\\n\t\r"), "\"a\\\"\\\\\\n\\t\\r\"");
  CHECK_EQ(Repr("a long string on the heap"), "\"a long string on the heap\"");
  CHECK_EQ(Repr(String(std::string("short"))), "\"short\"");
  CHECK_EQ(Repr("\xc3\xa9\xf0\x9f\x98\x80"), "\"\\u00e9\\U0001f600\"");
  CHECK_EQ(Repr("\xff\x7f"), "\"\\xff\\x7f\"");
  CHECK_EQ(Repr("\x1b[31mred"), "\"\\x1b[31mred\"");
}

TEST_CASE("bytes show every unprintable byte as a number") {
  CHECK_EQ(Repr(Bytes("", 0)), "b\"\"");
  CHECK_EQ(Repr(Bytes("ab'", 3)), "b\"ab'\"");
  CHECK_EQ(Repr(Bytes("\"\\\0\n\x7e\x7f\xff", 7)), "b\"\\x22\\x5c\\x00\\x0a~\\x7f\\xff\"");
}

TEST_CASE("data types and devices") {
  CHECK_EQ(Repr(DLDataType{kDLFloat, 32, 1}), "float32");
  CHECK_EQ(Repr(DLDataType{kDLInt, 8, 4}), "int8x4");
  CHECK_EQ(Repr(DLDataType{kDLBool, 8, 1}), "bool");
  CHECK_EQ(Repr(DLDataType{kDLComplex, 64, 1}), "complex64");
  CHECK_EQ(Repr(DLDataType{99, 3, 1}), "DataType(code=99, bits=3, lanes=1)");
  CHECK_EQ(Repr(DLDevice{kDLCPU, 0}), "cpu:0");
  CHECK_EQ(Repr(DLDevice{kDLCUDA, 1}), "cuda:1");
  CHECK_EQ(Repr(DLDevice{kDLCUDAHost, 0}), "cuda_host:0");
  CHECK_EQ(Repr(DLDevice{kDLWebGPU, -1}), "webgpu:-1");
  CHECK_EQ(Repr(DLDevice{static_cast<DLDeviceType>(99), 3}), "99:3");
}

TEST_CASE("containers") {
  CHECK_EQ(Repr(Array<Any>{}), "()");
  CHECK_EQ(Repr(Array<Any>{1}), "(1,)");
  CHECK_EQ(Repr(Array<Any>{1, "a", nullptr}), "(1, \"a\", None)");
  CHECK_EQ(Repr(List<Any>{}), "[]");
  CHECK_EQ(Repr(List<Any>{1}), "[1]");
  CHECK_EQ(Repr(List<Any>{1, List<Any>{2}}), "[1, [2]]");
  CHECK_EQ(Repr(Map<Any, Any>{}), "{}");
  CHECK_EQ(Repr(Map<Any, Any>{{"k", 1}, {2, Array<Any>{3}}}), "{\"k\": 1, 2: (3,)}");
  CHECK_EQ(Repr(Dict<Any, Any>{{1, 2}}), "{1: 2}");
  CHECK_EQ(Repr(Map<Any, Any>{{Array<Any>{1}, 2}}), "{(1,): 2}");
  CHECK_EQ(Repr(Shape{}), "Shape()");
  CHECK_EQ(Repr(Shape{5}), "Shape(5)");
  CHECK_EQ(Repr(Shape{1, -2}), "Shape(1, -2)");
}

TEST_CASE("large tables in order of insertion") {
  Dict<Any, Any> dict;
  for (int i = 0; i < 7; ++i) dict.Set(6 - i, i);
  CHECK_EQ(Repr(dict), "{6: 0, 5: 1, 4: 2, 3: 3, 2: 4, 1: 5, 0: 6}");
}

struct NoData {
  void AllocData(DLTensor* tensor) { tensor->data = nullptr; }
  void FreeData(DLTensor*) {}
};

TEST_CASE("tensors") {
  auto make = [](ShapeView shape, DLDataType dtype, DLDevice device) {
    return Tensor::FromNDAlloc(NoData(), shape, dtype, device);
  };
  CHECK_EQ(Repr(make({2, 3}, {kDLFloat, 32, 1}, {kDLCPU, 0})), "float32[2, 3]@cpu:0");
  CHECK_EQ(Repr(make({}, {kDLInt, 8, 1}, {kDLCUDA, 2})), "int8[]@cuda:2");
}

TEST_CASE("objects show their fields") {
  CHECK_EQ(Repr(Make<PointObj>()), "test.repr.Point(x=1, label=\"a\", rest=None)");
  CHECK_EQ(Repr(Make<Point3Obj>()), "test.repr.Point3(x=1, label=\"a\", rest=None, z=2.5)");
  CHECK_EQ(Repr(Make<BareObj>()), "test.repr.Bare");
  CHECK_EQ(Repr(Make<UnregisteredObj>()), "test.repr.Unregistered");
  CHECK_EQ(Repr(Make<Object>()), "ffi.Object");
  CHECK_EQ(Repr(Function::FromTyped([](int i) { return i; })), "ffi.Function");
  CHECK_EQ(Repr(Error("ValueError", "x", "")), "ffi.Error");
}

TEST_CASE("enums") {
  CHECK_EQ(Repr(EnumObj::_GetByStrIndex<ColorObj>("red")), "test.repr.Color.red");
  CHECK_EQ(Repr(EnumObj::_GetByStrIndex<LevelObj>("low")), "test.repr.Level.low");
}

TEST_CASE("sentinels") {
  CHECK_EQ(Repr(Function::GetGlobalRequired("ffi.GetInvalidObject")()), "<MISSING>");
  CHECK_EQ(Repr(Function::GetGlobalRequired("ffi.GetKwargsObject")()), "<KWARGS>");
}

TEST_CASE("objects inside themselves") {
  List<Any> list{1};
  list.push_back(list);
  CHECK_EQ(Repr(list), "[1, ...]");
  CHECK_EQ(Repr(Array<Any>{list, list}), "([1, ...], [1, ...])");
  list.Set(1, Dict<Any, Any>{{"l", list}});
  CHECK_EQ(Repr(list), "[1, {\"l\": ...}]");
  list.clear();

  auto point = make_object<PointObj>();
  point->rest = Array<Any>{ObjectRef(ObjectPtr<Object>(point))};
  CHECK_EQ(Repr(ObjectRef(ObjectPtr<Object>(point))),
           "test.repr.Point(x=1, label=\"a\", rest=(...,))");
  point->rest = nullptr;
}

TEST_CASE("shared objects are printed each time") {
  List<Any> shared{1};
  CHECK_EQ(Repr(Array<Any>{shared, shared}), "([1], [1])");
}

TEST_CASE("hooks print their objects") {
  CHECK_EQ(Repr(Make<HookedObj>("a")), "<\"a\">");
  CHECK_EQ(Repr(Array<Any>{Make<HookedObj>(List<Any>{1}), Make<HookedObj>(Make<HookedObj>(2))}),
           "(<[1]>, <<2>>)");
  List<Any> list;
  list.push_back(Make<HookedObj>(list));
  CHECK_EQ(Repr(list), "[<...>]");
  CHECK_EQ(Repr(list[0]), "<[...]>");
  list.clear();
}

TEST_CASE("errors of hooks") {
  CHECK_EQ(Thrown([] { Repr(Make<FailingObj>(1)); }), "KeyError: no text");
  CHECK_EQ(Thrown([] { Repr(List<Any>{Make<FailingObj>(List<Any>{})}); }), "KeyError: no text");
  CHECK_EQ(Thrown([] { Repr(Make<WrongHookObj>()); }).substr(0, 32),
           "TypeError: Cannot treat type `in");
}

// After the error, the child is no longer part of an open cycle.
TEST_CASE("a hook may catch the error of a child") {
  List<Any> list{1};
  Any failing = List<Any>{list, Make<FailingObj>(list)};
  CHECK_EQ(Repr(Array<Any>{Make<TolerantObj>(failing, list), 2}), "(error [1], 2)");
}

TEST_CASE("a hook may change the value during printing") {
  List<Any> list;
  for (int i = 0; i < 3; ++i) list.push_back(Make<MeddlingObj>(list));
  CHECK_EQ(Repr(list), "[meddling]");

  List<Any> victim{1};
  Dict<Any, Any> dict;
  for (int i = 0; i < 6; ++i) dict.Set(i, i == 0 ? Make<MeddlingObj>(victim) : Any(i));
  CHECK_EQ(Repr(dict), "{0: meddling, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5}");
}

TEST_CASE("the function passed to a hook expires with the printing") {
  CHECK_EQ(Repr(Make<KeepingObj>()), "kept");
  CHECK_EQ(
      Thrown([] { KeepingObj::kept()(1); }),
      "RuntimeError: the function that was passed to a hook was called after the operation that "
      "called the hook had ended");
  KeepingObj::kept() = PrintPart();
}

std::string Address(const Any& value) {
  std::ostringstream text;
  text << "@0x" << std::hex << reinterpret_cast<uintptr_t>(value.as<Object>());
  return text.str();
}

// Sets an environment variable; an empty value removes the variable.
void SetVariable(const char* name, const char* value) {
#ifdef _WIN32
  _putenv_s(name, value);
#else
  if (*value == '\0') {
    unsetenv(name);
  } else {
    setenv(name, value, 1);
  }
#endif
}

TEST_CASE("addresses on request") {
  Any bare = Make<BareObj>();
  List<Any> list{bare};
  Array<Any> array{list, 1, "a long string on the heap", Shape{1}, Make<HookedObj>(2)};
  Any color = EnumObj::_GetByStrIndex<ColorObj>("red");
  auto point = make_object<PointObj>();
  point->rest = color;
  Any object = ObjectRef(ObjectPtr<Object>(point));
  SetVariable("TVM_FFI_REPR_WITH_ADDR", "1");
  CHECK_EQ(Repr(array), "([test.repr.Bare" + Address(bare) + "]" + Address(list) +
                            ", 1, \"a long string on the heap\", Shape(1), <2>)" + Address(array));
  CHECK_EQ(Repr(object), "test.repr.Point" + Address(object) +
                             "(x=1, label=\"a\", rest=test.repr.Color.red" + Address(color) + ")");
  list.Set(0, list);
  CHECK_EQ(Repr(list), "[..." + Address(list) + "]" + Address(list));
  SetVariable("TVM_FFI_REPR_WITH_ADDR", "0");
  CHECK_EQ(Repr(list), "[...]");
  SetVariable("TVM_FFI_REPR_WITH_ADDR", "");
  list.clear();
}

TEST_CASE("access paths") {
  AccessPath path = AccessPath::Root()->Attr("x")->ArrayItem(2)->MapItem("k")->MapItem(3);
  CHECK_EQ(Repr(path), "<root>.x[2][\"k\"][3]");
  CHECK_EQ(Repr(path->AttrMissing("y")->ArrayItemMissing(5)->MapItemMissing("z")),
           "<root>.x[2][\"k\"][3][<missing:\"y\">][<missing:5>][<missing:\"z\">]");
  CHECK_EQ(Repr(AccessPath::Root()), "<root>");
  CHECK_EQ(Repr(path->ToSteps()), "(.x, [2], [\"k\"], [3])");
}

// Setters check only the declared type of a field.
TEST_CASE("access paths with parents that are None") {
  AccessPath path = AccessPath::Root()->Attr("x");
  refl::FieldSetter set_parent("ffi.reflection.AccessPath", "parent");
  set_parent(path, List<Any>{1});
  CHECK_EQ(Repr(path), "<root>.x");
  set_parent(path, path);
  CHECK_EQ(Repr(path), "<root>.x");
  set_parent(path, nullptr);
  CHECK_EQ(Repr(path), "<root>.x");
}

TEST_CASE("deep nesting needs no machine stack") {
  Nested nested(100000, 1, InList);
  std::string text = Repr(nested.value());
  CHECK_EQ(text, std::string(100000, '[') + "1" + std::string(100000, ']'));
}

TEST_CASE("nesting is limited") {
  Nested nested(1048577, 1, InList);
  CHECK_EQ(Thrown([&] { Repr(nested.value()); }),
           "ValueError: ReprPrint: the value is nested deeper than 1048576 levels");
}

TEST_CASE("hooks nest until the machine stack is used up") {
  auto hooked = [](const Any& part) { return Make<HookedObj>(part); };
  Nested some(200, 1, hooked);
  CHECK_EQ(Repr(some.value()), std::string(200, '<') + "1" + std::string(200, '>'));
  Nested many(10000, 1, hooked);
  std::string error;
  OnSmallStack([&] { error = Thrown([&] { Repr(many.value()); }); });
  CHECK_EQ(error.substr(0, 22), "ValueError: ReprPrint:");
  CHECK(error.find("the machine stack has no room for more than ") != std::string::npos);
}

template <typename T>
std::string Streamed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST_CASE("streams print the same text") {
  CHECK_EQ(Streamed(Any("a")), "\"a\"");
  CHECK_EQ(Streamed(AnyView(1)), "1");
  CHECK_EQ(Streamed(ObjectRef(ObjectPtr<Object>(make_object<BareObj>()))), "test.repr.Bare");
  CHECK_EQ(Streamed(ObjectRef()), "None");
  CHECK_EQ(Streamed(Array<int>{1, 2}), "(1, 2)");
  CHECK_EQ(Streamed(Variant<int, String>(String("a"))), "\"a\"");
  CHECK_EQ(Streamed(Variant<int, String>(3)), "3");
  CHECK_EQ(Streamed(Optional<int>(3)), "3");
  CHECK_EQ(Streamed(Optional<String>(std::nullopt)), "None");
  CHECK_EQ(Streamed(Optional<Array<int>>(Array<int>{3})), "(3,)");
}

TEST_CASE("streams print other types unchanged") {
  CHECK_EQ(Streamed(String("a")), "a");
  CHECK_EQ(Streamed(Shape{1, 2}), "[1, 2]");
  CHECK_EQ(Streamed(DLDataType{kDLFloat, 32, 1}), "float32");
  CHECK_EQ(Streamed(BigInt(7)), "7");
}

TEST_CASE("messages contain values") {
  CHECK_EQ(Thrown([] { TVM_FFI_THROW(ValueError) << Any(1) << ": " << Array<int>{2}; }),
           "ValueError: 1: (2,)");
}

TEST_CASE("global function") {
  Function print = Function::GetGlobalRequired("ffi.ReprPrint");
  CHECK_EQ(print("a").cast<std::string>(), "\"a\"");
  TVMFFIByteArray bytes{"b", 1};
  CHECK_EQ(print(&bytes).cast<std::string>(), "b\"b\"");
  CHECK_EQ(Thrown([&] { print(); }),
           "TypeError: Mismatched number of arguments when calling: `ffi.ReprPrint(0: Any) -> "
           "str`. Expected 1 but got 0 arguments");
}

TEST_CASE("hooks of built-in types") {
  refl::TypeAttrColumn hooks(type_attr::kRepr);
  CHECK(hooks[refl::AccessStepObj::RuntimeTypeIndex()].as<Function>().has_value());
  CHECK(hooks[refl::AccessPathObj::RuntimeTypeIndex()].as<Function>().has_value());
  CHECK(hooks[kTVMFFIBigInt] == nullptr);
}

}  // namespace
