// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/reflection/registry.h>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class LinkObj : public Object {
 public:
  int64_t x = 0;
  Any next;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.damaged.Link", LinkObj, Object);
};

class NoCreatorObj : public Object {
 public:
  int64_t x;
  explicit NoCreatorObj(int64_t x) : x(x) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.damaged.NoCreator", NoCreatorObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<LinkObj>(refl::init(false))
      .def_rw("x", &LinkObj::x)
      .def_rw("next", &LinkObj::next);
  refl::ObjectDef<NoCreatorObj>(refl::init(false)).def_ro("x", &NoCreatorObj::x);
}

std::string GraphOf(const Any& value) { return json::Stringify(ToJSONGraph(value)); }
std::string WriteError(const Any& value) {
  return Thrown([&] { ToJSONGraph(value); });
}
Any Read(const std::string& text) { return FromJSONGraph(json::Parse(String(text))); }
std::string ReadError(const std::string& text) {
  return Thrown([&] { Read(text); });
}
// A graph of `count` nodes whose root is the last.
std::string Graph(int count, const std::string& nodes) {
  return "{\"root_index\":" + std::to_string(count - 1) + ",\"nodes\":[" + nodes + "]}";
}

// ---- Values that cannot be written ------------------------------------------------------------

TEST_CASE("types that reflection cannot create") {
  auto error = [](const char* key) {
    return std::string("TypeError: Type `") + key +
           "` does not support ToJSONGraph (no native creator or __ffi_new__ type attr)";
  };
  CHECK_EQ(WriteError(ObjectRef(make_object<NoCreatorObj>(1))), error("test.damaged.NoCreator"));
  CHECK_EQ(WriteError(Array<Any>{Function::FromTyped([] {})}), error("ffi.Function"));
  CHECK_EQ(WriteError(Error("ValueError", "text", "")), error("ffi.Error"));
  CHECK_EQ(WriteError(ObjectRef(make_object<Object>())), error("ffi.Object"));
  CHECK_EQ(WriteError(reinterpret_cast<void*>(16)), "RuntimeError: Cannot serialize type `void*`");
}

TEST_CASE("cycles") {
  const std::string kMessage = "ValueError: Cycle detected during serialization: a ";
  List<Any> list{1};
  list.push_back(list);
  CHECK_EQ(WriteError(list), kMessage + "List contains itself");
  CHECK_EQ(WriteError(Array<Any>{list}), kMessage + "List contains itself");
  list.clear();
  Dict<Any, Any> dict;
  dict.Set("list", list);
  list.push_back(dict);
  CHECK_EQ(WriteError(dict), kMessage + "Dict contains itself");
  CHECK_EQ(WriteError(list), kMessage + "List contains itself");
  list.clear();
  auto link = make_object<LinkObj>();
  link->next = Array<Any>{ObjectRef(link)};
  CHECK_EQ(WriteError(ObjectRef(link)), kMessage + "`test.damaged.Link` contains itself");
  // The error names the container that was changed, wherever the path enters the cycle.
  list.push_back(ObjectRef(link));
  link->next = list;
  CHECK_EQ(WriteError(ObjectRef(link)), kMessage + "List contains itself");
  list.clear();
}

// ---- Documents that cannot be read ------------------------------------------------------------

TEST_CASE("malformed documents") {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case cases[] = {
      {"1", ", expected an object"},
      {"null", ", expected an object"},
      {"[]", ", expected an object"},
      {"{}", ", expected `root_index` integer field"},
      {R"({"root_index":"0","nodes":[]})", ", expected `root_index` integer field"},
      {R"({"root_index":0.0,"nodes":[]})", ", expected `root_index` integer field"},
      {R"({"root_index":false,"nodes":[{"type":"None"}]})",
       ", expected `root_index` integer field"},
      {R"({"root_index":0})", ", expected `nodes` array field"},
      {R"({"root_index":0,"nodes":{}})", ", expected `nodes` array field"},
      {R"({"root_index":0,"nodes":[]})", ": invalid node index 0"},
      {R"({"root_index":-1,"nodes":[{"type":"None"}]})", ": invalid node index -1"},
      {R"({"root_index":9223372036854775807,"nodes":[{"type":"None"}]})",
       ": invalid node index 9223372036854775807"},
      {R"({"root_index":4294967296,"nodes":[{"type":"None"}]})", ": invalid node index 4294967296"},
  };
  for (const Case& c : cases) {
    CHECK_EQ(ReadError(c.text), std::string("ValueError: Invalid JSON Object Graph") + c.error);
  }
}

TEST_CASE("malformed nodes") {
  struct Case {
    const char* node;
    const char* error;
  };
  const Case cases[] = {
      {"5", ", node 0: expected an object, got `int`"},
      {"{}", ", node 0: expected `type` string field"},
      {R"({"type":5})", ", node 0: expected `type` string field"},
      {R"({"type":"int"})", ", node 0: expected `data` field"},
      {R"({"type":"int","data":"1"})",
       ", node 0: expected `data` to be an integer, got `ffi.SmallStr`"},
      {R"({"type":"int","data":1.0})", ", node 0: expected `data` to be an integer, got `float`"},
      {R"({"type":"bool","data":null})", ", node 0: expected `data` to be a bool, got `None`"},
      {R"({"type":"float","data":"1"})",
       ", node 0: expected `data` to be a number, got `ffi.SmallStr`"},
      {R"({"type":"ffi.String","data":1})", ", node 0: expected `data` to be a string, got `int`"},
      {R"({"type":"DataType","data":1})", ", node 0: expected `data` to be a string, got `int`"},
      {R"({"type":"ffi.Bytes","data":1})",
       ", node 0: expected `data` to be base64 text, got `int`"},
      {R"({"type":"ffi.Bytes","data":"YQ="})", ", node 0: expected `data` to be base64 text"},
      {R"({"type":"ffi.Bytes","data":"===="})", ", node 0: expected `data` to be base64 text"},
      {R"({"type":"ffi.Bytes","data":"Y=Q="})", ", node 0: expected `data` to be base64 text"},
      {R"({"type":"ffi.Bytes","data":"YQ!="})", ", node 0: expected `data` to be base64 text"},
      {R"({"type":"Device","data":[1]})",
       ", node 0: Device data must be an array of [device_type, device_id], got 1 element(s)"},
      {R"({"type":"Device","data":["cpu",0]})",
       ", node 0: expected `data` to be an array of integers, got `ffi.Array`"},
      {R"({"type":"Device","data":[4294967297,0]})",
       ", node 0: expected the Device data to be 32-bit integers, got 4294967297"},
      {R"({"type":"ffi.Shape","data":3})",
       ", node 0: expected `data` to be an array of integers, got `int`"},
      {R"({"type":"ffi.Array","data":5})", ", node 0: expected `data` to be an array, got `int`"},
      {R"({"type":"ffi.Array","data":["0"]})",
       ", node 0: expected the index of a node, got `ffi.SmallStr`"},
      {R"({"type":"ffi.Array","data":[false]})",
       ", node 0: expected the index of a node, got `bool`"},
      {R"({"type":"ffi.Array","data":[7]})", ": invalid node index 7"},
      {R"({"type":"ffi.List","data":[-1]})", ": invalid node index -1"},
      {R"({"type":"ffi.Array","data":[0]})", ", node 0: contains itself"},
      {R"({"type":"ffi.Dict","data":[0,0]})", ", node 0: contains itself"},
      {R"({"type":"test.damaged.Link","data":{"x":0,"next":0}})", ", node 0: contains itself"},
      {R"({"type":"test.damaged.Link","data":{"x":0,"next":null}})",
       ", node 0: expected the index of a node, got `None`"},
      {R"({"type":"test.damaged.Link"})", ", node 0: expected `data` field"},
      {R"({"type":"test.damaged.Link","data":[]})",
       ", node 0: expected `data` to be an object, got `ffi.Array`"},
  };
  for (const Case& c : cases) {
    CHECK_EQ(ReadError(Graph(1, c.node)),
             std::string("ValueError: Invalid JSON Object Graph") + c.error);
  }
}

// Cause: reading a number takes time quadratic in its length, which was not limited: a megabyte
// took 25 seconds.
TEST_CASE("numbers of too many digits") {
  auto graph = [](const std::string& digits) {
    return Graph(1, R"({"type":"ffi.BigInt","data":")" + digits + "\"}");
  };
  const std::string kError =
      "a JSON graph cannot contain an ffi.BigInt of more than 100000 decimal digits";
  for (const char* sign : {"", "-"}) {
    std::string longest = sign + std::string(100000, '9');
    CHECK(GraphOf(Read(graph(longest))) == graph(longest));
    CHECK_EQ(ReadError(graph(longest + "0")),
             "ValueError: Invalid JSON Object Graph, node 0: " + kError);
    BigInt above = Read(graph(longest)).cast<BigInt>() + (*sign == '-' ? -1 : 1);
    CHECK_EQ(WriteError(above), "ValueError: " + kError);
    CHECK_EQ(WriteError(above << 100000000), "ValueError: " + kError);
  }
}

// Cause: errors after the reader's checks, in look-ups, hooks and setters, were passed on
// unchanged, with any kind and without the node.
TEST_CASE("well-formed graphs without a valid value") {
  const std::string kNode = "ValueError: Invalid JSON Object Graph, node 0: ";
  CHECK_EQ(ReadError(Graph(1, R"({"type":"no such type","data":1})")),
           kNode + "Cannot find type `no such type`");
  CHECK_EQ(ReadError(Graph(1, R"({"type":"DataType","data":"no such type"})")),
           kNode + "unknown dtype `no such type`");
  CHECK_EQ(ReadError(Graph(1, R"({"type":"ffi.BigInt","data":"1x"})")),
           kNode + "expected `data` of an ffi.BigInt to be a string of decimal digits");
  CHECK_EQ(ReadError(Graph(1, R"({"type":"ffi.BigInt","data":"-"})")),
           kNode + "expected `data` of an ffi.BigInt to be a string of decimal digits");
  CHECK_EQ(ReadError(Graph(2, R"({"type":"None"},{"type":"ffi.Map","data":[0]})")),
           "ValueError: Invalid JSON Object Graph, node 1: Map/Dict data must contain an even "
           "number of [key, value] entries, got 1");
  // Two nodes that refer to each other.
  CHECK_EQ(ReadError(R"({"root_index":0,"nodes":[{"type":"ffi.Array","data":[1]},)"
                     R"({"type":"ffi.Array","data":[0]}]})"),
           "ValueError: Invalid JSON Object Graph, node 0: contains itself");
  for (const char* key : {"test.damaged.NoCreator", "ffi.Object", "ffi.Function", "ffi.Tensor",
                          "ffi.Error", "ffi.SmallStr", "void*", "const char*"}) {
    CHECK_EQ(ReadError(Graph(1, std::string("{\"type\":\"") + key + "\",\"data\":{}}")),
             kNode + "Type `" + key +
                 "` does not support reflection creation (no native creator or __ffi_new__ type "
                 "attr)");
  }
  CHECK_EQ(ReadError(Graph(1, R"({"type":"test.damaged.Link","data":{"x":"1"}})")),
           kNode + "Cannot convert from type `ffi.SmallStr` to `int`");
}

// ---- Size -------------------------------------------------------------------------------------

TEST_CASE("nesting is limited") {
  Any value = 7;
  for (int i = 0; i < 10000; ++i) {
    if (i % 2 == 0) {
      value = Array<Any>{value};
    } else {
      auto link = make_object<LinkObj>();
      link->next = value;
      value = ObjectRef(link);
    }
  }
  std::string graph = GraphOf(value);
  CHECK_EQ(GraphOf(Read(graph)), graph);
  CHECK_EQ(WriteError(Array<Any>{value}),
           "ValueError: the JSON value is nested deeper than 10000 levels");
  std::string nodes = R"({"type":"ffi.Array","data":[]})";
  for (int i = 0; i < 100000; ++i) {
    nodes += R"(,{"type":"ffi.Array","data":[)" + std::to_string(i) + "]}";
  }
  CHECK_EQ(ReadError(Graph(100001, nodes)),
           "ValueError: the JSON value is nested deeper than 10000 levels");
}

}  // namespace
