// SPDX-License-Identifier: Apache-2.0
// Fuzz target of JSON graphs: the bytes are text if the first is a brace, or else select nodes.  A
// graph that is read can be written, and read and written again with the same result.
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/function.h>

#include <vector>

#include "fuzz.h"

namespace {

using namespace tvm::ffi;

// Type keys of all types of the runtime, and an unknown type key.
const std::vector<String>& TypeKeys() {
  static const auto* keys = [] {
    auto* found = new std::vector<String>{"no.such.type"};
    auto registered = Function::GetGlobalRequired("ffi.GetRegisteredTypeKeys")();
    for (const String& key : registered.cast<Array<String>>()) found->push_back(key);
    return found;
  }();
  return *keys;
}

// Names of fields, type keys and strings that are significant for some type.
const char* const kTexts[] = {"",           "kind",
                              "key",        "parent",
                              "step",       "depth",
                              "value",      "QUJD",
                              "123",        "float32",
                              "data",       "hash_i64",
                              "int8x4",     "-12345678901234567890123",
                              "custom[a]8", "_str_index"};

Any MakeJson(fuzz::Input* input, int depth) {
  switch (input->Below(depth > 0 ? 8 : 6)) {
    case 0:
      return Any();
    case 1:
      return input->Below(2) == 1;
    case 2:
      return input->Integer();
    case 3:
      return static_cast<double>(input->Integer()) / 3;
    case 4:
      return String(std::string(input->Text()));
    case 5:
      return String(kTexts[input->Below(std::size(kTexts))]);
    case 6: {
      json::Array items;
      for (uint32_t i = input->Below(6); i > 0; --i) items.push_back(MakeJson(input, depth - 1));
      return items;
    }
    default: {
      json::Object members;
      for (uint32_t i = input->Below(6); i > 0; --i) {
        String name(kTexts[input->Below(std::size(kTexts))]);
        members.Set(name, MakeJson(input, depth - 1));
      }
      return members;
    }
  }
}

// Returns data for a node: mostly the indices of other nodes.
Any MakeData(fuzz::Input* input) {
  if (input->Below(2) == 0) return MakeJson(input, 2);
  json::Array indices;
  for (uint32_t i = input->Below(8); i > 0; --i) indices.push_back(int64_t{input->Byte()} % 16);
  return indices;
}

Any MakeGraph(fuzz::Input* input) {
  json::Array nodes;
  while (!input->IsEmpty() && nodes.size() < 64) {
    json::Object node;
    node.Set("type", TypeKeys()[input->Below(static_cast<uint32_t>(TypeKeys().size()))]);
    if (input->Below(8) != 0) node.Set("data", MakeData(input));
    nodes.push_back(node);
  }
  int64_t root = static_cast<int64_t>(nodes.size()) - 1;
  return json::Object{{"root_index", root}, {"nodes", nodes}};
}

// The error for an unregistered type is an internal error, as in the incumbent.
void RequireGraphError(const Error& error) {
  if (error.message().substr(0, 17) == "Cannot find type ") return;
  fuzz::RequireKind(error, {"ValueError", "TypeError", "RuntimeError"});
}

// A hook or constructor may create values that a graph cannot represent.
bool Write(const Any& value, String* text) {
  try {
    *text = json::Stringify(ToJSONGraph(value));
    return true;
  } catch (const Error& error) {
    RequireGraphError(error);
    return false;
  }
}

void RequireSame(const Any& value) {
  String text;
  if (!Write(value, &text)) return;
  String again;
  FUZZ_REQUIRE(Write(FromJSONGraph(json::Parse(text)), &again));
  FUZZ_REQUIRE(text == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    Any graph;
    if (size > 0 && data[0] == '{') {
      graph = json::Parse(String(reinterpret_cast<const char*>(data), size));
    } else {
      fuzz::Input input(data, size);
      graph = MakeGraph(&input);
    }
    Any value = FromJSONGraph(graph);
    RequireSame(value);
  } catch (const Error& error) {
    RequireGraphError(error);
  }
  return 0;
}
