// SPDX-License-Identifier: Apache-2.0
// Capture of CUDA streams into graphs.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_STREAM_CAPTURE_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_STREAM_CAPTURE_H_

#include "observe/thread_environment.h"

namespace tvm::ffi::extra {

// cuStreamIsCapturing of the driver, and its states.
using CaptureQuery = int (*)(TVMFFIStreamHandle stream, int* state);
constexpr int kNotCaptured = 0;
constexpr int kCaptured = 1;
constexpr int kCaptureInvalidated = 2;  // the driver will refuse to create the graph

// Returns the function of the driver, or null.  Set by RegisterStreamCapture, see
// dynamic_loading.cc.
inline CaptureQuery (*find_capture_query)() = nullptr;

inline int CaptureState(TVMFFIStreamHandle stream) {
  static const CaptureQuery query = find_capture_query == nullptr ? nullptr : find_capture_query();
  int state = kNotCaptured;
  return query != nullptr && query(stream, &state) == 0 ? state : kNotCaptured;
}

// Returns the first current CUDA stream that is being captured, or null.
inline TVMFFIStreamHandle CapturedStream(const Environment& environment) {
  static_assert(Environment::kTypes[0] == kDLCUDA);
  // The legacy stream cannot be captured; a query during a capture would fail.
  constexpr uintptr_t kLegacyStream = 1;
  for (TVMFFIStreamHandle stream : environment.streams[0]) {
    if (reinterpret_cast<uintptr_t>(stream) <= kLegacyStream) continue;
    if (CaptureState(stream) == kCaptured) return stream;
  }
  return nullptr;
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_STREAM_CAPTURE_H_
