// SPDX-License-Identifier: Apache-2.0
// JSON text to values and back.
//
// A JSON value is None, a bool, an int64, a double, a String, an Array or a Map with String keys.
// Beyond RFC 8259 the texts NaN, Infinity and -Infinity are numbers.  Both functions are
// independent of the locale and of the depth of the stack: nesting is limited to 10000 levels.
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

// The value of `json_str`.  The last of several equal keys wins; an integer beyond int64 becomes a
// double.  With error_msg the function never throws for malformed text: it stores the message, or
// an empty string after success, and returns None.
// Fails: ValueError with the position, "Expecting value: line 1 column 1 (char 0)"; columns and
// characters are counted in bytes.
TVM_FFI_EXTRA_CXX_API Value Parse(const String& json_str, String* error_msg = nullptr);

// Text of `value`: on one line without blanks, or, if indent is set and not 0, one line per
// element with so many more blanks per level, 1000 at most.  A List prints like an Array.
// Fails: ValueError for keys that are no strings, values of other types, a List in itself, and for
// a larger indent.
TVM_FFI_EXTRA_CXX_API String Stringify(const Value& value,
                                       const Optional<int>& indent = std::nullopt);

}  // namespace json
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_JSON_H_
