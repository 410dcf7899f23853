// SPDX-License-Identifier: Apache-2.0
// Native backtraces: the call stack as text, one line per frame, most recent call first:
//     `  File "PATH", line N, in FUNCTION`
#ifndef TVM_FFI_RUNTIME_CORE_BACKTRACE_H_
#define TVM_FFI_RUNTIME_CORE_BACKTRACE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tvm::ffi::runtime {

// Returns the call stack of the caller up to the first frame of the calling language.  The text is
// borrowed until the next call of this function on the thread.
std::string_view CurrentBacktrace();
// Returns the same for return addresses, most recent call first.
std::string_view BacktraceOf(const uintptr_t* addresses, size_t count);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_BACKTRACE_H_
