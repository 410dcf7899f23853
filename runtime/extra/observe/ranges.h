// SPDX-License-Identifier: Apache-2.0
// Ranges: calls in the timelines of other profilers.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_RANGES_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_RANGES_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

namespace tvm::ffi::extra {

// Adds an observer that opens a range for each call, as AddObserver does; its function returns the
// names of the profilers.
//
// `begin` gets the name and the arguments of a call, and returns the range or None; `end` gets the
// range.  Objects other than tensors and strings are passed as their type keys.
Array<Any> AddRanges(const Array<String>& names, const Optional<Function>& begin,
                     const Optional<Function>& end);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_RANGES_H_
