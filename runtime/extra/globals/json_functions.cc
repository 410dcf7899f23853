// SPDX-License-Identifier: Apache-2.0
// Global functions over JSON text and JSON graphs.
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/reflection/registry.h>

#include "registration.h"

namespace tvm::ffi {
namespace {

Any ParseText(const String& text) { return json::Parse(text); }

String ToJSONGraphString(const Any& value, const Any& metadata) {
  return json::Stringify(ToJSONGraph(value, metadata));
}

Any FromJSONGraphString(const String& text) { return FromJSONGraph(json::Parse(text)); }

}  // namespace

void extra::RegisterJsonFunctions() {
  reflection::GlobalDef()
      .def("ffi.json.Parse", &ParseText)
      .def("ffi.json.Stringify", &json::Stringify)
      .def("ffi.ToJSONGraph", &ToJSONGraph)
      .def("ffi.ToJSONGraphString", &ToJSONGraphString)
      .def("ffi.FromJSONGraph", &FromJSONGraph)
      .def("ffi.FromJSONGraphString", &FromJSONGraphString);
}

}  // namespace tvm::ffi
