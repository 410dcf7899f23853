// SPDX-License-Identifier: Apache-2.0
// Text of the native call stack, one line per frame, most recent call first:
//     `  File "PATH", line N, in FUNCTION`
#ifndef TVM_FFI_RUNTIME_CORE_BACKTRACE_H_
#define TVM_FFI_RUNTIME_CORE_BACKTRACE_H_

#include <string_view>

namespace tvm::ffi::runtime {

// The stack of the caller up to the FFI boundary.  Valid until the thread asks again.
std::string_view CurrentBacktrace();

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_BACKTRACE_H_
