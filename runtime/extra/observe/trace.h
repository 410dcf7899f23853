// SPDX-License-Identifier: Apache-2.0
// Call traces.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_TRACE_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_TRACE_H_

#include <tvm/ffi/container/array.h>

namespace tvm::ffi::extra {

// Adds an observer that records calls, as AddObserver does.  The trace drops further calls after
// about `max_events` calls.
Array<Any> AddTrace(const Array<String>& names, int64_t max_events);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_TRACE_H_
