// SPDX-License-Identifier: Apache-2.0
// CUDADeviceGuard: a device is current on the calling thread until the end of the scope.
#ifndef TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_
#define TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_

#include <tvm/ffi/extra/cuda/base.h>

namespace tvm {
namespace ffi {

// Costs one look at the current device when it is the right one already.
class CUDADeviceGuard {
 public:
  TVM_FFI_HIDDEN explicit CUDADeviceGuard(int device_index) : device_index_(device_index) {
    TVM_FFI_CHECK_CUDA_ERROR(::cudaGetDevice(&previous_index_));
    if (previous_index_ != device_index_) {
      TVM_FFI_CHECK_CUDA_ERROR(::cudaSetDevice(device_index_));
    }
  }
  CUDADeviceGuard(const CUDADeviceGuard&) = delete;
  CUDADeviceGuard& operator=(const CUDADeviceGuard&) = delete;

  // Throws when the device cannot be restored, unless an exception is on its way already: two at a
  // time would end the process.
  TVM_FFI_HIDDEN ~CUDADeviceGuard() noexcept(false) {
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
