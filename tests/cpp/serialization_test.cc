// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/registry.h>

#include <cmath>
#include <limits>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

// ---- Types ------------------------------------------------------------------------------------

enum Colour { kRed = 3 };

// A class with a field of every type.
class RecordObj : public Object {
 public:
  bool flag = true;
  int32_t count = 8;
  Colour colour = kRed;
  double ratio = 2.0;
  DLDataType dtype{kDLFloat, 32, 1};
  std::nullptr_t nothing = nullptr;
  String name = "text";
  Bytes bytes = Bytes("ab", 2);
  DLDevice device{kDLCUDA, 1};
  Any any = 8;
  Array<int> array = {8};
  Optional<int> optional;
  ObjectRef reference;
  Function function;
  Variant<int, String> variant = 8;
  Tuple<int, String> tuple = Tuple<int, String>(8, "text");
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.graph.Record", RecordObj, Object);
};

class BaseObj : public Object {
 public:
  int64_t x = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.graph.Base", BaseObj, Object);
};

class LinkObj : public BaseObj {
 public:
  Any next;
  int64_t y = 0;
  TVM_FFI_DECLARE_OBJECT_INFO("test.graph.Link", LinkObj, BaseObj);
};

class DefaultsObj : public Object {
 public:
  int64_t required = 0;
  int64_t number = 0;
  String text;
  Array<Any> made;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.graph.Defaults", DefaultsObj, Object);
};

// A class that cannot be created without arguments; only its hooks write and read it.
class HookedObj : public Object {
 public:
  int64_t x;
  explicit HookedObj(int64_t x) : x(x) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.graph.Hooked", HookedObj, Object);
};

class FailingHookObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.graph.FailingHook", FailingHookObj, Object);
};

// A class whose objects are equal if their names are equal.
class NamedObj : public Object {
 public:
  int64_t name = 0;
  int64_t detail = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.graph.Named", NamedObj, Object);
};

class EmptyObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.graph.Empty", EmptyObj, Object);
};

class SizeObj : public IntEnumObj {
 public:
  using IntEnumObj::IntEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.graph.Size", SizeObj, IntEnumObj);
};

class ShadeObj : public EnumObj {
 public:
  using EnumObj::EnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.graph.Shade", ShadeObj, EnumObj);
};

int hook_calls = 0;

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<RecordObj>(refl::init(false))
      .def_ro("flag", &RecordObj::flag)
      .def_ro("count", &RecordObj::count)
      .def_ro("colour", &RecordObj::colour)
      .def_ro("ratio", &RecordObj::ratio)
      .def_ro("dtype", &RecordObj::dtype)
      .def_ro("nothing", &RecordObj::nothing)
      .def_ro("name", &RecordObj::name)
      .def_ro("bytes", &RecordObj::bytes)
      .def_ro("device", &RecordObj::device)
      .def_ro("any", &RecordObj::any)
      .def_ro("array", &RecordObj::array)
      .def_ro("optional", &RecordObj::optional)
      .def_ro("reference", &RecordObj::reference)
      .def_ro("function", &RecordObj::function)
      .def_ro("variant", &RecordObj::variant)
      .def_ro("tuple", &RecordObj::tuple);
  refl::ObjectDef<BaseObj>(refl::init(false)).def_rw("x", &BaseObj::x);
  refl::ObjectDef<LinkObj>(refl::init(false))
      .def_rw("next", &LinkObj::next)
      .def_rw("y", &LinkObj::y);
  refl::ObjectDef<DefaultsObj>(refl::init(false))
      .def_ro("required", &DefaultsObj::required)
      .def_ro("number", &DefaultsObj::number, refl::DefaultValue(42))
      .def_ro("text", &DefaultsObj::text, refl::DefaultValue("nothing said"))
      .def_ro("made", &DefaultsObj::made,
              refl::DefaultFactory(Function::FromTyped([] { return Array<Any>{1}; })));
  refl::ObjectDef<HookedObj>(refl::init(false))
      .def_ro("x", &HookedObj::x)
      .def_type_attr("__data_to_json__",
                     [](const HookedObj* self) -> Any {
                       ++hook_calls;
                       return json::Object{{"parts", json::Array{self->x, nullptr}}};
                     })
      .def_type_attr("__data_from_json__", [](const json::Object& data) {
        json::Array parts = data["parts"].cast<json::Array>();
        return ObjectRef(make_object<HookedObj>(parts[0].cast<int64_t>()));
      });
  refl::ObjectDef<FailingHookObj>(refl::init(false))
      .def_type_attr("__data_to_json__",
                     [](const Object*) -> Any { TVM_FFI_THROW(KeyError) << "no data"; })
      .def_type_attr("__data_from_json__",
                     [](const Any&) -> Any { TVM_FFI_THROW(KeyError) << "no object"; });
  refl::ObjectDef<NamedObj>(refl::init(false))
      .def_ro("name", &NamedObj::name)
      .def_ro("detail", &NamedObj::detail)
      .def_type_attr("__any_hash__",
                     Function::FromTyped([](const NamedObj* self) { return self->name; }))
      .def_type_attr("__any_equal__", Function::FromTyped([](const NamedObj* a, const NamedObj* b) {
                       return a->name == b->name;
                     }));
  refl::ObjectDef<EmptyObj>(refl::init(false));
  refl::EnumDef<SizeObj>("LARGE", 40);
  refl::EnumDef<ShadeObj>("DARK");
}

// ---- Helper functions -------------------------------------------------------------------------

std::string GraphOf(const Any& value, const Any& metadata = Any(nullptr)) {
  return json::Stringify(ToJSONGraph(value, metadata));
}
std::string WriteError(const Any& value) {
  return Thrown([&] { ToJSONGraph(value); });
}
Any Read(const std::string& text) { return FromJSONGraph(json::Parse(String(text))); }
std::string ReadError(const std::string& text) {
  return Thrown([&] { Read(text); });
}
// A graph of `count` nodes whose root is the last node.
std::string Graph(int count, const std::string& nodes) {
  return "{\"root_index\":" + std::to_string(count - 1) + ",\"nodes\":[" + nodes + "]}";
}

// ---- Values -----------------------------------------------------------------------------------

TEST_CASE("plain values") {
  struct Case {
    Any value;
    const char* node;
  };
  const double kInfinity = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {nullptr, R"({"type":"None"})"},
      {true, R"({"type":"bool","data":true})"},
      {-5, R"({"type":"int","data":-5})"},
      {INT64_MIN, R"({"type":"int","data":-9223372036854775808})"},
      {1.0, R"({"type":"float","data":1.0})"},
      {0.1, R"({"type":"float","data":0.10000000000000001})"},
      {9007199254740992.0, R"({"type":"float","data":9007199254740992.0})"},
      {-kInfinity, R"({"type":"float","data":-Infinity})"},
      {std::nan(""), R"({"type":"float","data":NaN})"},
      {"", R"({"type":"ffi.String","data":""})"},
      {"short", R"({"type":"ffi.String","data":"short"})"},
      {"a long one/\n", R"({"type":"ffi.String","data":"a long one\/\n"})"},
      {Bytes("", 0), R"({"type":"ffi.Bytes","data":""})"},
      {Bytes("ab", 2), R"({"type":"ffi.Bytes","data":"YWI="})"},
      {Bytes("0123456789abc", 13), R"({"type":"ffi.Bytes","data":"MDEyMzQ1Njc4OWFiYw=="})"},
      {DLDataType{kDLInt, 8, 4}, R"({"type":"DataType","data":"int8x4"})"},
      {DLDevice{kDLCUDA, 1}, R"({"type":"Device","data":[2,1]})"},
      {Shape(), R"({"type":"ffi.Shape","data":[]})"},
      {Shape({1, -2}), R"({"type":"ffi.Shape","data":[1,-2]})"},
      {BigInt(7), R"({"type":"int","data":7})"},
      {-(BigInt(1) << 100), R"({"type":"ffi.BigInt","data":"-1267650600228229401496703205376"})"},
      {Array<Any>{}, R"({"type":"ffi.Array","data":[]})"},
      {List<Any>{}, R"({"type":"ffi.List","data":[]})"},
      {Map<Any, Any>{}, R"({"type":"ffi.Map","data":[]})"},
      {Dict<Any, Any>{}, R"({"type":"ffi.Dict","data":[]})"},
      {ObjectRef(make_object<EmptyObj>()), R"({"type":"test.graph.Empty","data":{}})"},
  };
  for (const Case& c : cases) {
    std::string graph = Graph(1, c.node);
    CHECK_EQ(GraphOf(c.value), graph);
    Any back = Read(graph);
    CHECK_EQ(back.type_index(), c.value.type_index());
    CHECK_EQ(GraphOf(back), graph);
  }
}

TEST_CASE("containers list their nodes") {
  CHECK_EQ(GraphOf(Array<Any>{1, "a"}),
           Graph(3, R"({"type":"int","data":1},{"type":"ffi.String","data":"a"},)"
                    R"({"type":"ffi.Array","data":[0,1]})"));
  std::string map = Graph(6, R"({"type":"ffi.String","data":"a"},{"type":"int","data":1},)"
                             R"({"type":"int","data":2},{"type":"int","data":3},)"
                             R"({"type":"ffi.List","data":[3]},)"
                             R"({"type":"ffi.Map","data":[0,1,2,4]})");
  CHECK_EQ(GraphOf(Map<Any, Any>{{"a", 1}, {2, List<Any>{3}}}), map);
  Map<Any, Any> back = Read(map).as_or_throw<Map<Any, Any>>();
  CHECK((back["a"].cast<int>() == 1 && back[2].cast<List<int>>()[0] == 3));
  CHECK_EQ(GraphOf(Dict<Any, Any>{{nullptr, 1}}),
           Graph(3, R"({"type":"None"},{"type":"int","data":1},{"type":"ffi.Dict","data":[0,1]})"));
}

TEST_CASE("equal values share a node") {
  // 1, 1.0 and true are three values; 0.0 and -0.0 two; strings and bytes differ.
  CHECK_EQ(GraphOf(Array<Any>{1, 1, 1.0, true, nullptr, nullptr, 0.0, -0.0}),
           Graph(7, R"({"type":"int","data":1},{"type":"float","data":1.0},)"
                    R"({"type":"bool","data":true},{"type":"None"},)"
                    R"({"type":"float","data":0.0},{"type":"float","data":-0.0},)"
                    R"({"type":"ffi.Array","data":[0,0,1,2,3,3,4,5]})"));
  CHECK_EQ(GraphOf(Array<Any>{String(std::string("a")), "a", Bytes("a", 1), Bytes("a", 1)}),
           Graph(3, R"({"type":"ffi.String","data":"a"},{"type":"ffi.Bytes","data":"YQ=="},)"
                    R"({"type":"ffi.Array","data":[0,0,1,1]})"));
  BigInt big = BigInt(1) << 64;
  CHECK_EQ(GraphOf(Array<Any>{big, (BigInt(1) << 65) - big}),
           Graph(2, R"({"type":"ffi.BigInt","data":"18446744073709551616"},)"
                    R"({"type":"ffi.Array","data":[0,0]})"));
  auto first = make_object<NamedObj>();
  auto second = make_object<NamedObj>();
  second->detail = 1;
  CHECK_EQ(GraphOf(Array<Any>{ObjectRef(first), ObjectRef(second)}),
           Graph(2, R"({"type":"test.graph.Named","data":{"name":0,"detail":0}},)"
                    R"({"type":"ffi.Array","data":[0,0]})"));
}

TEST_CASE("shared objects stay shared") {
  List<Any> list{1};
  std::string graph = Graph(4, R"({"type":"int","data":1},{"type":"ffi.List","data":[0]},)"
                               R"({"type":"ffi.List","data":[0]},)"
                               R"({"type":"ffi.Array","data":[1,2,1]})");
  // Two lists with the same content remain two objects after a round trip.
  CHECK_EQ(GraphOf(Array<Any>{list, List<Any>{1}, list}), graph);
  Array<Any> back = Read(graph).as_or_throw<Array<Any>>();
  CHECK((back[0].same_as(back[2]) && !back[0].same_as(back[1])));
}

TEST_CASE("sharing keeps graphs small") {
  Any value = Array<Any>{};
  for (int i = 0; i < 100; ++i) value = Array<Any>{value, value};
  Any graph = ToJSONGraph(value);
  CHECK_EQ(graph.cast<json::Object>()["nodes"].cast<json::Array>().size(), 101u);
  CHECK_EQ(GraphOf(FromJSONGraph(graph)), std::string(json::Stringify(graph)));
}

TEST_CASE("metadata") {
  const char* node = R"({"root_index":0,"nodes":[{"type":"int","data":1}])";
  CHECK_EQ(GraphOf(1), node + std::string("}"));
  CHECK_EQ(GraphOf(1, json::Object{{"version", "2"}}),
           node + std::string(R"(,"metadata":{"version":"2"}})"));
  CHECK_EQ(GraphOf(1, 5), node + std::string(R"(,"metadata":5})"));
  CHECK_EQ(Read(GraphOf(1, json::Object{{"version", "2"}})).cast<int>(), 1);
}

// ---- Objects ----------------------------------------------------------------------------------

TEST_CASE("fields of every type") {
  std::string graph =
      Graph(8, R"({"type":"ffi.String","data":"text"},{"type":"ffi.Bytes","data":"YWI="},)"
               R"({"type":"Device","data":[2,1]},{"type":"int","data":8},)"
               R"({"type":"ffi.Array","data":[3]},{"type":"None"},)"
               R"({"type":"ffi.Array","data":[3,0]},)"
               R"({"type":"test.graph.Record","data":{"flag":true,"count":8,"colour":3,)"
               R"("ratio":2.0,"dtype":"float32","nothing":null,"name":0,"bytes":1,"device":2,)"
               R"("any":3,"array":4,"optional":5,"reference":5,"function":5,"variant":3,)"
               R"("tuple":6}})");
  auto record = make_object<RecordObj>();
  CHECK_EQ(GraphOf(ObjectRef(record)), graph);
  Any back = Read(graph);
  CHECK_EQ(GraphOf(back), graph);
  const RecordObj* copy = back.as<RecordObj>();
  CHECK((copy->flag && copy->count == 8 && copy->colour == kRed && copy->name == "text"));
  CHECK((copy->tuple.get<1>() == "text" && !copy->reference.defined()));
}

TEST_CASE("fields of ancestors come first") {
  auto inner = make_object<LinkObj>();
  inner->x = 1;
  auto outer = make_object<LinkObj>();
  outer->next = ObjectRef(inner);
  outer->y = 2;
  std::string graph =
      Graph(3, R"({"type":"None"},{"type":"test.graph.Link","data":{"x":1,"next":0,"y":0}},)"
               R"({"type":"test.graph.Link","data":{"x":0,"next":1,"y":2}})");
  CHECK_EQ(GraphOf(ObjectRef(outer)), graph);
  const LinkObj* back = Read(graph).as<LinkObj>();
  CHECK(back != nullptr);
  CHECK_EQ(GraphOf(Read(graph)), graph);
}

TEST_CASE("missing fields get their defaults") {
  Any made = Read(R"({"root_index":0,"nodes":[)"
                  R"({"type":"test.graph.Defaults","data":{"required":5,"unknown":7}}]})");
  const DefaultsObj* object = made.as<DefaultsObj>();
  CHECK((object->required == 5 && object->number == 42 && object->text == "nothing said"));
  CHECK_EQ(object->made.size(), 1u);
  CHECK_EQ(
      ReadError(Graph(1, R"({"type":"test.graph.Defaults","data":{"number":1}})")),
      "ValueError: Invalid JSON Object Graph, node 0: Required field `required` not set in type "
      "`test.graph.Defaults`");
}

TEST_CASE("hooks replace the fields") {
  Any hooked = ObjectRef(make_object<HookedObj>(3));
  std::string graph = Graph(2, R"({"type":"test.graph.Hooked","data":{"parts":[3,null]}},)"
                               R"({"type":"ffi.Array","data":[0,0]})");
  hook_calls = 0;
  CHECK_EQ(GraphOf(Array<Any>{hooked, hooked}), graph);
  CHECK_EQ(hook_calls, 1);
  Array<Any> back = Read(graph).as_or_throw<Array<Any>>();
  CHECK(back[0].same_as(back[1]));
  CHECK_EQ(back[0].as<HookedObj>()->x, 3);
}

TEST_CASE("errors of hooks are passed on") {
  CHECK_EQ(WriteError(Array<Any>{1, ObjectRef(make_object<FailingHookObj>())}),
           "KeyError: no data");
  CHECK_EQ(ReadError(Graph(1, R"({"type":"test.graph.FailingHook","data":1})")),
           "KeyError: no object");
}

TEST_CASE("enums keep their identity") {
  Any size = EnumObj::_GetByIntIndex(SizeObj::RuntimeTypeIndex(), 40);
  Any shade = EnumObj::_GetByStrIndex(ShadeObj::RuntimeTypeIndex(), "DARK");
  std::string graph = Graph(3, R"({"type":"test.graph.Size","data":40},)"
                               R"({"type":"test.graph.Shade","data":"DARK"},)"
                               R"({"type":"ffi.Array","data":[0,1]})");
  CHECK_EQ(GraphOf(Array<Any>{size, shade}), graph);
  Array<Any> back = Read(graph).as_or_throw<Array<Any>>();
  CHECK((back[0].same_as(size) && back[1].same_as(shade)));
  CHECK_EQ(ReadError(Graph(1, R"({"type":"test.graph.Size","data":41})")),
           "ValueError: Invalid JSON Object Graph, node 0: Enum `test.graph.Size` has no instance "
           "with index 41");
  CHECK_EQ(ReadError(Graph(1, R"({"type":"test.graph.Shade","data":"LIGHT"})")),
           "ValueError: Invalid JSON Object Graph, node 0: Enum `test.graph.Shade` has no instance "
           "with index LIGHT");
  CHECK_EQ(ReadError(Graph(1, R"({"type":"test.graph.Shade","data":0})")),
           "ValueError: Invalid JSON Object Graph, node 0: expected `data` to be a string, got "
           "`int`");
}

TEST_CASE("lenient forms are accepted") {
  // The reader accepts integers for bool and float, nodes that are unordered, unused or additional,
  // and unknown members.
  CHECK(Read(Graph(1, R"({"type":"float","data":1})")).as<double>() == 1.0);
  CHECK(Read(Graph(1, R"({"type":"bool","data":1})")).as<bool>() == true);
  CHECK(Read(Graph(1, R"({"type":"int","data":true})")).as<int64_t>() == 1);
  CHECK_EQ(
      GraphOf(Read(R"({"version":1,"root_index":0,"nodes":[{"type":"ffi.Array","data":[1]},)"
                   R"({"type":"int","data":5,"note":""},7,{"type":"ffi.Array","data":[3]}]})")),
      Graph(2, R"({"type":"int","data":5},{"type":"ffi.Array","data":[0]})"));
}

// ---- Size -------------------------------------------------------------------------------------

TEST_CASE("many nodes") {
  List<Any> list;
  for (int i = 0; i < 10000; ++i) list.push_back(Map<Any, Any>{{i, String(std::to_string(i))}});
  std::string graph = GraphOf(list);
  List<Any> back = Read(graph).as_or_throw<List<Any>>();
  CHECK_EQ(back.size(), 10000u);
  Map<int, String> last = back[9999].cast<Map<int, String>>();
  CHECK(last[9999] == "9999");
  CHECK_EQ(GraphOf(back), graph);
}

TEST_CASE("the attributes of data have keys") {
  CHECK_EQ(std::string(type_attr::kDataToJson.name), "__data_to_json__");
  CHECK_EQ(std::string(type_attr::kDataFromJson.name), "__data_from_json__");
}

}  // namespace
