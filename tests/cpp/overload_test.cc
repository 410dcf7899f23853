// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/reflection/overload.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class CounterObj : public Object {
 public:
  int64_t value;

  explicit CounterObj(int64_t value) : value(value) {}
  CounterObj(int64_t value, int64_t step) : value(value + step) {}
  int64_t Add(int64_t by) { return value += by; }
  String Add(const String& text, int64_t count) const { return text + std::to_string(count); }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.overload.Counter", CounterObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::OverloadObjectDef<CounterObj>()
      .def(refl::init<int64_t>(), "From a value.")
      .def(refl::init<int64_t, int64_t>(), "From a value and a step.")
      .def("add", refl::overload_cast<int64_t>(&CounterObj::Add))
      .def("add", refl::overload_cast<const String&>(&CounterObj::Add, refl::const_))
      .def("fail", [](const CounterObj*, int) { TVM_FFI_THROW(ValueError) << "refused"; })
      .def("fail", [](const CounterObj*, String) {})
      .def_static("one", [](int x) { return x; })
      .def_static("any", [](Any) { return 1; })
      .def_static("any", [](Any, AnyView) { return 2; })
      .def_rw("value", &CounterObj::value);
}

Function Method(const char* name) { return refl::GetMethod("test.overload.Counter", name); }
ObjectRef Counter(int64_t value) {
  return ObjectRef(ObjectPtr<Object>(make_object<CounterObj>(value)));
}

TEST_CASE("the first overload that matches is called") {
  ObjectRef counter = Counter(1);
  CHECK_EQ(Method("add")(counter, 2).cast<int>(), 3);
  CHECK_EQ(Method("add")(counter, "n", 2).cast<std::string>(), "n2");
  CHECK_EQ(Method("__ffi_init__")(1).cast<ObjectRef>().as<CounterObj>()->value, 1);
  CHECK_EQ(Method("__ffi_init__")(1, 5).cast<ObjectRef>().as<CounterObj>()->value, 6);
  CHECK_EQ(Method("any")("x").cast<int>(), 1);
  CHECK_EQ(Method("any")(1, nullptr).cast<int>(), 2);
  auto init = refl::TypeAttrColumn(type_attr::kInit)[CounterObj::RuntimeTypeIndex()];
  CHECK_EQ(init.cast<Function>()(1, 5).cast<ObjectRef>().as<CounterObj>()->value, 6);
}

TEST_CASE("each overload has an entry") {
  const TypeInfo* type = TVMFFIGetTypeInfo(CounterObj::RuntimeTypeIndex());
  std::string names;
  for (int i = 0; i < type->num_methods; ++i) {
    names += std::string(type->methods[i].name.data, type->methods[i].name.size) + " ";
  }
  CHECK_EQ(names, "__ffi_init__ __ffi_init__ add add fail fail one any any ");
  CHECK(type->methods[0].method.v_obj == type->methods[1].method.v_obj);
  CHECK_EQ(std::string(type->methods[3].metadata.data, type->methods[3].metadata.size),
           R"({"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[{\"type\":)"
           R"(\"ffi.String\"}],\"params\":[{\"type\":\"test.overload.Counter\"},)"
           R"({\"type\":\"ffi.String\"},{\"type\":\"int\"}]}}"})");
}

TEST_CASE("no overload matches") {
  CHECK_EQ(Thrown([] { Method("add")(Counter(1), 1.5); }),
           "TypeError: No matching overload found when calling: `test.overload.Counter.add` with 2 "
           "arguments:\n"
           "Overload #0: Mismatched type on argument #1 when calling: `test.overload.Counter.add "
           "(0: test.overload.Counter, 1: int) -> int`. Expected `int` but got `float`\n"
           "Overload #1: Mismatched number of arguments when calling: `test.overload.Counter.add "
           "(0: test.overload.Counter, 1: str, 2: int) -> str`. Expected 3 arguments");
}

TEST_CASE("a single overload fails like a method") {
  CHECK_EQ(Thrown([] { Method("one")("x"); }),
           "TypeError: Mismatched type on argument #0 when calling: `test.overload.Counter.one(0: "
           "int) -> int`. Expected `int` but got `const char*`");
  CHECK_EQ(Thrown([] { Method("one")(); }),
           "TypeError: Mismatched number of arguments when calling: `test.overload.Counter.one(0: "
           "int) -> int`. Expected 1 but got 0 arguments");
}

TEST_CASE("an error of the callable ends the search") {
  CHECK_EQ(Thrown([] { Method("fail")(Counter(1), 1); }), "ValueError: refused");
}

}  // namespace
