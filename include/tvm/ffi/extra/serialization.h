// SPDX-License-Identifier: Apache-2.0
// Serialization of values as JSON graphs.  Each distinct value is one node, so that an object with
// several references is serialized once.
//
//   {"root_index": 2,
//    "nodes": [{"type": "int", "data": 1},
//              {"type": "ffi.String", "data": "a"},
//              {"type": "ffi.Array", "data": [0, 1]}],
//    "metadata": ...}
//
// docs/design/json-graph.md describes the "data" of each type.
#ifndef TVM_FFI_EXTRA_SERIALIZATION_H_
#define TVM_FFI_EXTRA_SERIALIZATION_H_

#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {

namespace type_attr {
// Hooks (functions that a type registers) that replace the default "data" of the type's objects in
// the JSON graph.  kDataToJson converts an object to JSON data, kDataFromJson converts the data to
// an object.
inline constexpr reflection::AttrKey<TypedFunction<Any(AnyView)>> kDataToJson{"__data_to_json__"};
inline constexpr reflection::AttrKey<TypedFunction<Any(AnyView)>> kDataFromJson{
    "__data_from_json__"};
}  // namespace type_attr

// Returns the JSON graph of a value.  `metadata`, a JSON value, is included unless it is None.
// Fails: TypeError for objects that reflection cannot create, unless their type has
// "__data_to_json__"; RuntimeError for pointers; ValueError for a value that contains itself.
TVM_FFI_EXTRA_CXX_API json::Value ToJSONGraph(const Any& value, const Any& metadata = Any(nullptr));

// Returns the value of a JSON graph.  Nodes that are not reachable from the root are ignored.
// Fails: ValueError if `value` is not a valid graph; TypeError or RuntimeError if an object cannot
// be created.
TVM_FFI_EXTRA_CXX_API Any FromJSONGraph(const json::Value& value);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_SERIALIZATION_H_
