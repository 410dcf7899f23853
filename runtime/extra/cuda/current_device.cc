// SPDX-License-Identifier: Apache-2.0
#include "cuda/current_device.h"

#include <tvm/ffi/error.h>

#include <atomic>

#include "cuda/devices.h"

namespace tvm::ffi::extra::cuda {
namespace {

// Returns the primary context of a device.  The context is retained until the process ends.
Context PrimaryContext(const Driver& driver, int device_id) {
  static std::atomic<Context> contexts[ImageOnDevices::kMaxDevices] = {};
  std::atomic<Context>& slot = contexts[device_id];
  Context known = slot.load(std::memory_order_acquire);
  if (TVM_FFI_PREDICT_TRUE(known != nullptr)) return known;
  const std::string location = " on cuda:" + std::to_string(device_id);
  Device device = 0;
  Result status = driver.device_get(&device, device_id);
  if (status != 0) driver.Throw("cuDeviceGet", status, location);
  RelaxedCaptureScope relaxed(driver);
  Context retained = nullptr;
  status = driver.primary_context_retain(&retained, device);
  if (status != 0) driver.Throw("cuDevicePrimaryCtxRetain", status, location);
  if (slot.compare_exchange_strong(known, retained, std::memory_order_acq_rel)) return retained;
  driver.primary_context_release(device);  // another thread has already retained the context
  return known;
}

}  // namespace

int CurrentDevice(const Driver& driver) {
  Context context = nullptr;
  Device device = 0;
  Result status = driver.context_get_current(&context);
  if (status == 0 && context != nullptr) status = driver.context_get_device(&device);
  if (status != 0) driver.Throw("cuCtxGetDevice", status, "");
  return device;
}

void SetDevice(int device_type, int device_id) {
  if (device_type == kDLCPU || device_type == kDLCUDAHost) return;
  if (device_type != kDLCUDA && device_type != kDLCUDAManaged) {
    TVM_FFI_THROW(ValueError) << "cannot launch kernels: expected a CUDA device, got device type "
                              << device_type;
  }
  if (device_id < 0 || device_id >= ImageOnDevices::kMaxDevices) {
    TVM_FFI_THROW(ValueError) << "there is no cuda:" << device_id
                              << ": the number of supported devices is "
                              << ImageOnDevices::kMaxDevices;
  }
  const Driver& driver = Driver::Get();
  Context wanted = PrimaryContext(driver, device_id), current = nullptr;
  Result status = driver.context_get_current(&current);
  if (status != 0) driver.Throw("cuCtxGetCurrent", status, "");
  if (current == wanted) return;
  status = driver.context_set_current(wanted);
  if (status != 0) driver.Throw("cuCtxSetCurrent", status, "");
}

}  // namespace tvm::ffi::extra::cuda
