// SPDX-License-Identifier: Apache-2.0
// JSON text and JSON graphs: C++ functions of the runtime, called through the headers of both
// implementations.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/function.h>

#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;

const char* const kDocument =
    R"({"name":"a text on the heap","list":[1,-2.5,true,null,"x\"y"],"nested":{"empty":[],"n":{}}})";

Any ParseDocument(Any) { return json::Parse(kDocument); }
Any CheckDocument(Any document) {
  auto object = document.cast<json::Object>();
  CHECK_EQ(object["name"].cast<String>(), "a text on the heap");
  auto list = object["list"].cast<json::Array>();
  CHECK_EQ(list.size(), size_t{5});
  CHECK_EQ(list[0].cast<int64_t>(), 1);
  CHECK_EQ(list[1].cast<double>(), -2.5);
  CHECK(list[2].as<bool>().value());
  CHECK(list[3] == nullptr);
  CHECK_EQ(list[4].cast<String>(), "x\"y");
  CHECK(object["nested"].cast<json::Object>()["empty"].cast<json::Array>().empty());
  CHECK_EQ(json::Stringify(document), kDocument);
  return document;
}
String WriteIndented(Any document) {
  return json::Stringify(document.cast<json::Object>()["list"], 2);
}
void CheckIndented(String text) {
  CHECK_EQ(text, "[\n  1,\n  -2.5,\n  true,\n  null,\n  \"x\\\"y\"\n]");
}
// Malformed text: reported through the argument, or as an exception.
void CheckParseErrors(Any) {
  String message;
  CHECK(json::Parse("[1,", &message) == nullptr);
  CHECK_EQ(message, "Syntax error near: line 1 column 4 (char 3)");
  std::string thrown;
  try {
    json::Parse("{1:2}");
  } catch (const Error& error) {
    thrown = error.kind() + ": " + error.message();
  }
  CHECK_EQ(thrown,
           "ValueError: Expecting property name enclosed in double quotes: line 1 column 2 "
           "(char 1)");
  CHECK_EQ(json::Parse("[1]", &message).cast<Array<int64_t>>()[0], 1);
  CHECK(message.empty());
}

Any MakeGraph(Any) {
  String shared("a text that occurs twice");
  return ToJSONGraph(Array<Any>{shared, List<Any>{1, 2.5, shared}, Shape{3, 4}, nullptr},
                     String("metadata"));
}
void CheckGraph(Any graph) {
  CHECK_EQ(graph.cast<json::Object>()["metadata"].cast<String>(), "metadata");
  Array<Any> value = FromJSONGraph(graph).cast<Array<Any>>();
  CHECK_EQ(value.size(), size_t{4});
  CHECK_EQ(value[0].cast<String>(), "a text that occurs twice");
  List<Any> list = value[1].as<List<Any>>().value();
  CHECK_EQ(list[1].cast<double>(), 2.5);
  CHECK_EQ(list[2].cast<String>(), "a text that occurs twice");
  CHECK_EQ(value[2].as<Shape>().value().Product(), 12);
  CHECK(value[3] == nullptr);
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(parse_document, exchange::ParseDocument)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_document, exchange::CheckDocument)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(write_indented, exchange::WriteIndented)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_indented, exchange::CheckIndented)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_parse_errors, exchange::CheckParseErrors)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_graph, exchange::MakeGraph)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_graph, exchange::CheckGraph)
