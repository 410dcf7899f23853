// SPDX-License-Identifier: Apache-2.0
// JSON numbers as text; independent of the locale.
#ifndef TVM_FFI_RUNTIME_EXTRA_JSON_NUMBER_H_
#define TVM_FFI_RUNTIME_EXTRA_JSON_NUMBER_H_

#include <tvm/ffi/any.h>

#include <string>
#include <string_view>

namespace tvm::ffi::extra {

enum class JsonNumberError { kNone, kNotANumber, kTooLarge };

// Whether a number may consist of this character.
bool IsJsonNumberCharacter(char c);

// The int64 or double that `text` denotes, correctly rounded.  More forms than RFC 8259 has are
// numbers here: 01, +1, .5 and 1.; NaN and Infinity are not.
JsonNumberError ParseJsonNumber(std::string_view text, Any* value);

void AppendJsonNumber(int64_t value, std::string* out);
// 17 significant digits, which reading gives back the same double, and never an integer's text.
void AppendJsonNumber(double value, std::string* out);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_JSON_NUMBER_H_
