// SPDX-License-Identifier: Apache-2.0
// CUDADeviceGuard: sets the calling thread's current CUDA device until the end of a scope.
#ifndef TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_
#define TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_

#include <tvm/ffi/extra/cuda/base.h>

namespace tvm {
namespace ffi {

// Sets the current device and restores the previous one.  If the device is already current, the
// guard only queries the current device.
class CUDADeviceGuard {
 public:
  TVM_FFI_HIDDEN_ explicit CUDADeviceGuard(int device_index) : device_index_(device_index) {
    TVM_FFI_CHECK_CUDA_ERROR(::cudaGetDevice(&previous_index_));
    if (previous_index_ != device_index_) {
      TVM_FFI_CHECK_CUDA_ERROR(::cudaSetDevice(device_index_));
    }
  }
  CUDADeviceGuard(const CUDADeviceGuard&) = delete;
  CUDADeviceGuard& operator=(const CUDADeviceGuard&) = delete;

  // Restores the previous device.  Throws if the previous device cannot be restored.  Does not
  // throw while another exception propagates, because a second exception would terminate the
  // process.
  TVM_FFI_HIDDEN_ ~CUDADeviceGuard() noexcept(false) {
    if (previous_index_ == device_index_) return;
    ::cudaError_t status = ::cudaSetDevice(previous_index_);
    if (std::uncaught_exceptions() == 0) TVM_FFI_CHECK_CUDA_ERROR(status);
  }

 private:
  int previous_index_;
  int device_index_;
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_
