// SPDX-License-Identifier: Apache-2.0
#include "cuda/architecture.h"

#include <tvm/ffi/error.h>

#include <atomic>

#include "cuda/devices.h"

namespace tvm::ffi::extra::cuda {
namespace {

Device DeviceOf(const Driver& driver, int device_id) {
  Device device = 0;
  Result status = driver.device_get(&device, device_id);
  if (status != 0) driver.Throw("cuDeviceGet", status, " on cuda:" + std::to_string(device_id));
  return device;
}

}  // namespace

Architecture ReadArchitecture(std::string_view text) {
  Architecture architecture;
  std::string_view rest = text;
  if (rest.empty()) return architecture;
  if (rest.substr(0, 3) == "sm_") rest.remove_prefix(3);
  if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
    architecture.suffix = rest.back();
    rest.remove_suffix(1);
  }
  for (char digit : rest) {
    if (digit < '0' || digit > '9' || architecture.number > 999) rest = "";
    architecture.number = 10 * architecture.number + (digit - '0');
  }
  if (rest.empty() || text.substr(0, 3) != "sm_" || architecture.number == 0) {
    TVM_FFI_THROW(ValueError) << "CUDA image: expected an architecture such as `sm_90a`, got `"
                              << std::string(text) << "`";
  }
  return architecture;
}

int ImageFit(ImageFormat format, const Architecture& architecture, int capability) {
  int number = architecture.number;
  bool is_ptx = format == ImageFormat::kPtx, is_family = number / 10 == capability / 10;
  if (number == 0) return 1;
  if (architecture.suffix == 'a' ? number != capability : number > capability) return 0;
  if ((architecture.suffix == 'f' || !is_ptx) && !is_family) return 0;
  return (is_ptx ? 0 : 100000) + 10 * number + (architecture.suffix == '\0' ? 0 : 1) + 1;
}

int CapabilityOf(const Driver& driver, int device_id) {
  static std::atomic<int> capabilities[ImageOnDevices::kMaxDevices] = {};
  if (device_id < 0 || device_id >= ImageOnDevices::kMaxDevices) {
    TVM_FFI_THROW(ValueError) << "there is no cuda:" << device_id
                              << ": the number of supported devices is "
                              << ImageOnDevices::kMaxDevices;
  }
  int known = capabilities[device_id].load(std::memory_order_relaxed);
  if (TVM_FFI_PREDICT_TRUE(known != 0)) return known;
  Device device = DeviceOf(driver, device_id);
  int major = 0, minor = 0;
  Result status = driver.device_get_attribute(&major, kComputeCapabilityMajor, device);
  if (status == 0) status = driver.device_get_attribute(&minor, kComputeCapabilityMinor, device);
  if (status != 0) {
    driver.Throw("cuDeviceGetAttribute", status, " on cuda:" + std::to_string(device_id));
  }
  capabilities[device_id].store(10 * major + minor, std::memory_order_relaxed);
  return 10 * major + minor;
}

std::string NameOf(const Driver& driver, int device_id) {
  char name[256] = "";
  Result status = driver.device_get_name(name, sizeof(name), DeviceOf(driver, device_id));
  name[sizeof(name) - 1] = '\0';
  return status != 0 || name[0] == '\0' ? "a GPU without a name" : name;
}

}  // namespace tvm::ffi::extra::cuda
