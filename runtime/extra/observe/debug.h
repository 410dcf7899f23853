// SPDX-License-Identifier: Apache-2.0
// Debug context: finds calls that break a rule of the ABI.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_DEBUG_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_DEBUG_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>

namespace tvm::ffi::extra {

// Adds an observer that checks calls, as AddObserver does.
//
// names       names of the functions to check.
// options     [largest number of bytes of a tensor whose elements are checked, true to find NaN and
//             infinity in outputs, true to find arguments that functions keep].
// host        [describe, knows_kind, stack, report]: functions of the host language.
//               describe(function, name) -> [true if the function runs host code, true if a result
//                 of None is wrong, directions, names of the parameters], or None.  A direction is
//                 'i' (read), 'o' (written), 'w' (read and written) or '-'.
//               knows_kind(kind) -> true if the error kind is registered
//               stack() -> the stack of the host language, as text
//               report(function, argument, rule, message, stack, events), called for each new fault
// addresses   the C functions int (*)() that acquires the host's lock, void (*)(int) that releases
//             it, void* (*)() that returns the pending exception, int (*)() that returns 0 if the
//             host is exiting, and void* (*)() that returns null if the host does not know this
//             thread; or none.
Array<Any> AddDebug(const Array<String>& names, const Array<Any>& options,
                    const Array<Function>& host, const Array<int64_t>& addresses);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_DEBUG_H_
