// SPDX-License-Identifier: Apache-2.0
// JSON numbers: parser and printer, independent of the locale.
#ifndef TVM_FFI_RUNTIME_EXTRA_JSON_NUMBER_H_
#define TVM_FFI_RUNTIME_EXTRA_JSON_NUMBER_H_

#include <tvm/ffi/any.h>

#include <string>
#include <string_view>

namespace tvm::ffi::extra {

enum class JsonNumberError { kNone, kTooLarge };

// Returns the length of the number of RFC 8259 at the start of the text; 0 if there is none.
size_t JsonNumberLength(std::string_view text);

// Parses a number of RFC 8259 and stores it as an int64 or a correctly rounded double.
JsonNumberError ParseJsonNumber(std::string_view text, Any* value);

void AppendJsonNumber(int64_t value, std::string* out);
// Appends a number with 17 significant digits, which are read back as the same double, and with a
// decimal point or exponent, so that the text is not read back as an integer.
void AppendJsonNumber(double value, std::string* out);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_JSON_NUMBER_H_
