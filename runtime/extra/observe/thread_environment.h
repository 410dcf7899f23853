// SPDX-License-Identifier: Apache-2.0
// Environment of a thread: its current streams and its tensor allocator, which a call must not
// change.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_THREAD_ENVIRONMENT_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_THREAD_ENVIRONMENT_H_

#include <dlpack/dlpack.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdint>

#include "../core/extra_layer.h"

namespace tvm::ffi::extra {

// The current streams of the thread, and its tensor allocator.
struct Environment {
  static constexpr int kNumTypes = 3;
  static constexpr int kNumDevices = 8;
  static constexpr DLDeviceType kTypes[kNumTypes] = {kDLCUDA, kDLROCM, kDLVulkan};

  // See runtime::NumStreamChanges.  In one thread, the same number means the same streams.
  uint64_t num_changes = ~uint64_t{0};
  TVMFFIStreamHandle streams[kNumTypes][kNumDevices];
  bool has_cuda_stream;
  DLPackManagedTensorAllocator allocator;
};

inline void ReadStreams(uint64_t num_changes, Environment* environment) {
  for (int type = 0; type < Environment::kNumTypes; ++type) {
    for (int id = 0; id < Environment::kNumDevices; ++id) {
      environment->streams[type][id] = TVMFFIEnvGetStream(Environment::kTypes[type], id);
    }
  }
  environment->has_cuda_stream = false;
  for (TVMFFIStreamHandle stream : environment->streams[0]) {
    if (stream != nullptr) environment->has_cuda_stream = true;
  }
  environment->num_changes = num_changes;
}

// True if a call left the environment as it was.
inline bool IsUnchanged(const Environment& environment) {
  return environment.num_changes == runtime::NumStreamChanges() &&
         environment.allocator == TVMFFIEnvGetDLPackManagedTensorAllocator();
}

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_THREAD_ENVIRONMENT_H_
