// SPDX-License-Identifier: Apache-2.0
// Flight recorder: an observer that writes calls to a recording file.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_RECORDER_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_RECORDER_H_

#include <tvm/ffi/container/array.h>

namespace tvm::ffi::extra {

// Adds an observer that records calls, as AddObserver does; `contents` is a Contents.
Array<Any> AddRecorder(const String& path, const Array<String>& names, int64_t contents,
                       int64_t max_bytes, int64_t last_calls);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_RECORDER_H_
