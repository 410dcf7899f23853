// SPDX-License-Identifier: Apache-2.0
// JSON parser and writer.
//
// A JSON value is None, a bool, an int64, a double, a String, an Array or a Map with String keys.
// As an extension of RFC 8259, NaN, Infinity and -Infinity are numbers.  The functions do not
// depend on the locale.  They do not use the stack for nesting, which is limited to 10000 levels.
#ifndef TVM_FFI_EXTRA_JSON_H_
#define TVM_FFI_EXTRA_JSON_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

namespace tvm {
namespace ffi {
namespace json {

// Any JSON value.
using Value = Any;
// A JSON object; its keys are strings.
using Object = ffi::Map<Any, Any>;
// A JSON array.
using Array = ffi::Array<Any>;

// Parses a JSON text.  If a key occurs several times, the last value is used; an integer outside
// the range of int64 becomes a double.  If error_msg is not null, the function does not throw for
// malformed text: it stores the message in *error_msg and returns None; after success, *error_msg
// is empty.
// Fails: ValueError with the position, such as "Expecting value: line 1 column 1 (char 0)";
// columns and characters are counted in bytes.
TVM_FFI_EXTRA_CXX_API Value Parse(const String& json_str, String* error_msg = nullptr);

// Returns the JSON text of a value.  Without indent, or if it is 0, the text is one line without
// spaces.  Otherwise each element has its own line, indented by `indent` spaces per level, at most
// 1000.  A List is written like an Array.
// Fails: ValueError for keys that are not strings, values of other types, a List that contains
// itself, and an indent above 1000.
TVM_FFI_EXTRA_CXX_API String Stringify(const Value& value,
                                       const Optional<int>& indent = std::nullopt);

}  // namespace json
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_JSON_H_
