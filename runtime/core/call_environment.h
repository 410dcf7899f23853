// SPDX-License-Identifier: Apache-2.0
// CallEnvironment: the stream and the tensor allocator of this thread during a call.
#ifndef TVM_FFI_RUNTIME_CORE_CALL_ENVIRONMENT_H_
#define TVM_FFI_RUNTIME_CORE_CALL_ENVIRONMENT_H_

#include <tvm/ffi/extra/c_env_api.h>

#include "error.h"

namespace tvm::ffi::runtime {

// Sets a stream and an allocator.  The destructor restores the previous ones, also when the thread
// is cancelled.
class CallEnvironment {
 public:
  // The stream stays unchanged if the type of the device is 0, the allocator if it is null.
  CallEnvironment(DLDevice device, TVMFFIStreamHandle stream,
                  DLPackManagedTensorAllocator allocator)
      : device_(device), allocator_(allocator) {
    if (sets_stream()) {
      int code =
          TVMFFIEnvSetStream(device.device_type, device.device_id, stream, &previous_stream_);
      if (code != 0) RaisePending(code);
    }
    if (allocator != nullptr) {
      TVMFFIEnvSetDLPackManagedTensorAllocator(allocator, 0, &previous_allocator_);
    }
  }
  ~CallEnvironment() {
    // Setting the previous stream cannot fail, because the constructor has already allocated the
    // table element for the stream of this device.
    if (sets_stream()) {
      TVMFFIEnvSetStream(device_.device_type, device_.device_id, previous_stream_, nullptr);
    }
    if (allocator_ != nullptr) {
      TVMFFIEnvSetDLPackManagedTensorAllocator(previous_allocator_, 0, nullptr);
    }
  }
  CallEnvironment(const CallEnvironment&) = delete;
  CallEnvironment& operator=(const CallEnvironment&) = delete;

 private:
  bool sets_stream() const { return device_.device_type != 0; }

  DLDevice device_;
  DLPackManagedTensorAllocator allocator_;
  TVMFFIStreamHandle previous_stream_ = nullptr;
  DLPackManagedTensorAllocator previous_allocator_ = nullptr;
};

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_CALL_ENVIRONMENT_H_
