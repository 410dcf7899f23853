// SPDX-License-Identifier: Apache-2.0
// Global functions for JSON text and JSON graphs (ffi.json.*, ffi.ToJSONGraph, ...).
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "registration.h"

namespace tvm::ffi {
namespace {

Any ParseText(const String& text) { return json::Parse(text); }

// Writes a value as JSON text.  If `indent` is negative, the text has line breaks without
// indentation; all negative values have the same effect.
String ToText(const Any& value, const Optional<int64_t>& indent) {
  if (!indent.has_value()) return json::Stringify(value);
  if (*indent > std::numeric_limits<int>::max()) {
    TVM_FFI_THROW(ValueError) << "ffi.json.Stringify: indent must fit 32 bits, got " << *indent;
  }
  return json::Stringify(value, static_cast<int>(std::max<int64_t>(*indent, -1)));
}

String ToJSONGraphString(const Any& value, const Any& metadata) {
  return json::Stringify(ToJSONGraph(value, metadata));
}

Any FromJSONGraphString(const String& text) { return FromJSONGraph(json::Parse(text)); }

}  // namespace

void extra::RegisterJsonFunctions() {
  reflection::GlobalDef()
      .def("ffi.json.Parse", &ParseText)
      .def("ffi.json.Stringify", &ToText)
      .def("ffi.ToJSONGraph", &ToJSONGraph)
      .def("ffi.ToJSONGraphString", &ToJSONGraphString)
      .def("ffi.FromJSONGraph", &FromJSONGraph)
      .def("ffi.FromJSONGraphString", &FromJSONGraphString);
}

}  // namespace tvm::ffi
