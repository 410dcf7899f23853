// SPDX-License-Identifier: Apache-2.0
// Values as JSON graphs: every distinct value is one node, so that shared objects stay shared.
//
//   {"root_index": 2,
//    "nodes": [{"type": "int", "data": 1},
//              {"type": "ffi.String", "data": "a"},
//              {"type": "ffi.Array", "data": [0, 1]}],
//    "metadata": ...}
//
// docs/design/json-graph.md lists the data of each type.
#ifndef TVM_FFI_EXTRA_SERIALIZATION_H_
#define TVM_FFI_EXTRA_SERIALIZATION_H_

#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {

namespace type_attr {
// How values of a type become JSON data, and are made of it.
inline constexpr reflection::AttrKey<TypedFunction<Any(AnyView)>> kDataToJson{"__data_to_json__"};
inline constexpr reflection::AttrKey<TypedFunction<Any(AnyView)>> kDataFromJson{
    "__data_from_json__"};
}  // namespace type_attr

// The graph of `value`; `metadata`, a JSON value, becomes part of it unless it is None.
// Fails: TypeError for objects that reflection cannot create, unless they have a
// "__data_to_json__"; RuntimeError for pointers; ValueError for a value that contains itself.
TVM_FFI_EXTRA_CXX_API json::Value ToJSONGraph(const Any& value, const Any& metadata = Any(nullptr));

// The value of a graph.  Nodes that the root does not reach are not looked at.
// Fails: ValueError for what is no graph; TypeError, RuntimeError when an object cannot be made.
TVM_FFI_EXTRA_CXX_API Any FromJSONGraph(const json::Value& value);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_SERIALIZATION_H_
