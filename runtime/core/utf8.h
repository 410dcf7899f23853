// SPDX-License-Identifier: Apache-2.0
// UTF-8 check of registered names.
#ifndef TVM_FFI_RUNTIME_CORE_UTF8_H_
#define TVM_FFI_RUNTIME_CORE_UTF8_H_

#include <string_view>

namespace tvm::ffi::runtime {

// Raises ValueError unless a name is well-formed UTF-8.  Host languages decode all registered names
// when they list them, so one malformed name would make every list fail.
//
// kind  the kind of name for the message, such as "global function"
void CheckNameIsUtf8(const char* kind, std::string_view name);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_UTF8_H_
