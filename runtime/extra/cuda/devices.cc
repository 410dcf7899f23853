// SPDX-License-Identifier: Apache-2.0
#include "cuda/devices.h"

#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

#include <optional>

#include "cuda/image.h"

namespace tvm::ffi::extra::cuda {
namespace {

std::string DeviceName(int device_id) { return "cuda:" + std::to_string(device_id); }

// Tells the process that the driver is about to compile PTX, if the process wants to know: it may
// warn or refuse.
//
// Fails: the error of the global function, if the process refuses.
void AnnounceCompilation(const std::string& image, int device_id) {
  if (CheckImage(image, "") != ImageFormat::kPtx) return;
  std::optional<Function> announce = Function::GetGlobal("pytvmffi.AnnouncePTX");
  if (announce.has_value()) (*announce)(Bytes(image), DeviceName(device_id));
}

}  // namespace

ImageOnDevice::ImageOnDevice(const Driver& driver, int device_id, const std::string& image,
                             size_t num_kernels)
    : driver_(driver), device_id_(device_id), kernels_(new KernelOnDevice[num_kernels]) {
  Result status = driver_.device_get(&device_, device_id);
  if (status != 0) driver_.Throw("cuDeviceGet", status, Location(""));
  RelaxedCaptureScope relaxed(driver_);
  status = driver_.primary_context_retain(&context_, device_);
  if (status != 0) driver_.Throw("cuDevicePrimaryCtxRetain", status, Location(""));
  try {
    Load(image);
  } catch (...) {
    driver_.primary_context_release(device_);
    throw;
  }
}

void ImageOnDevice::Load(const std::string& image) {
  char log[4096] = "";  // receives the messages of the driver's PTX compiler
  const int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  ContextScope scope(driver_, context_);
  Result status = driver_.module_load(&loaded_, image.c_str(), 2, options, values);
  log[sizeof(log) - 1] = '\0';
  if (status != 0) driver_.Throw("cuModuleLoadDataEx", status, Location(""), log);
  try {
    scope.Restore();
  } catch (...) {
    driver_.module_unload(loaded_);
    throw;
  }
}

// Ignores driver errors, which a destructor cannot report.  If the driver is shutting down, the
// driver has already freed the image.
ImageOnDevice::~ImageOnDevice() {
  Context previous = nullptr;
  if (driver_.context_get_current(&previous) != 0) return;
  RelaxedCaptureScope relaxed(driver_);
  if (driver_.context_set_current(context_) == 0) {
    driver_.module_unload(loaded_);
    driver_.context_set_current(previous);
  }
  driver_.primary_context_release(device_);
}

std::string ImageOnDevice::Location(const std::string& symbol) const {
  return (symbol.empty() ? " on " : " for kernel `" + symbol + "` on ") + DeviceName(device_id_);
}

Kernel ImageOnDevice::FindFirst(size_t index, const std::string& symbol) {
  // The driver may load the kernel in this scope, at its first use.
  RelaxedCaptureScope relaxed(driver_);
  Kernel known = nullptr;
  Result status = driver_.module_get_function(&known, loaded_, symbol.c_str());
  if (status != 0) driver_.Throw("cuModuleGetFunction", status, Location(symbol));
  // No lock is needed, because a concurrent call gets the same handle from the driver.
  kernels_[index].handle.store(known, std::memory_order_release);
  return known;
}

Result ImageOnDevice::RaiseSharedMemory(KernelOnDevice* kernel, uint32_t bytes) {
  std::lock_guard<std::mutex> lock(growth_mutex_);
  if (bytes <= kernel->dynamic_shared_memory.load(std::memory_order_relaxed)) return 0;
  Result status =
      driver_.function_set_attribute(kernel->handle.load(std::memory_order_acquire),
                                     kMaxDynamicSharedSizeBytes, static_cast<int>(bytes));
  if (status == 0) kernel->dynamic_shared_memory.store(bytes, std::memory_order_release);
  return status;
}

void ImageOnDevice::ReserveSharedMemory(size_t index, uint32_t bytes, const std::string& symbol) {
  KernelOnDevice& kernel = kernels_[index];
  if (TVM_FFI_PREDICT_TRUE(bytes <= kernel.dynamic_shared_memory.load(std::memory_order_acquire))) {
    return;
  }
  // Throw only after RaiseSharedMemory has released the lock.  The backtrace of the error may wait
  // for the dynamic loader, which may run an initialiser that launches a kernel and takes this
  // lock.
  Result status = RaiseSharedMemory(&kernel, bytes);
  if (status != 0) {
    driver_.Throw(
        "cuFuncSetAttribute", status,
        Location(symbol) + " with " + std::to_string(bytes) + " bytes of dynamic shared memory");
  }
}

void ImageOnDevice::GrantLargeSharedMemory(size_t index, uint32_t bytes,
                                           const std::string& symbol) {
  if (bytes <= kernels_[index].dynamic_shared_memory.load(std::memory_order_acquire)) return;
  int most = 0;
  Result status = driver_.device_get_attribute(&most, kMaxSharedMemoryPerBlockOptin, device_);
  if (status == 0 && static_cast<int64_t>(bytes) > most) {
    TVM_FFI_THROW(RuntimeError) << "kernel `" << symbol << "` needs " << bytes
                                << " bytes of shared memory, and a block on "
                                << DeviceName(device_id_) << " has at most " << most;
  }
  ReserveSharedMemory(index, bytes, symbol);
}

void ImageOnDevice::GrantCluster(size_t index, uint32_t blocks, const std::string& symbol) {
  constexpr uint32_t kPortable = 8;
  std::atomic<bool>& is_granted = kernels_[index].has_large_clusters;
  if (blocks <= kPortable || is_granted.load(std::memory_order_acquire)) return;
  Kernel kernel = kernels_[index].handle.load(std::memory_order_acquire);
  Result status = driver_.function_set_attribute(kernel, kNonPortableClusterSizeAllowed, 1);
  if (status != 0) driver_.Throw("cuFuncSetAttribute", status, Location(symbol));
  is_granted.store(true, std::memory_order_release);
}

ImageOnDevices::~ImageOnDevices() {
  for (std::atomic<ImageOnDevice*>& device : devices_) {
    delete device.load(std::memory_order_acquire);
  }
}

ImageOnDevice& ImageOnDevices::At(const Driver& driver, int device_id) {
  if (device_id >= kMaxDevices) {
    TVM_FFI_THROW(ValueError) << "there is no " << DeviceName(device_id)
                              << ": the number of supported devices is " << kMaxDevices;
  }
  std::atomic<ImageOnDevice*>& device = devices_[device_id];
  ImageOnDevice* known = device.load(std::memory_order_acquire);
  if (TVM_FFI_PREDICT_TRUE(known != nullptr)) return *known;
  AnnounceCompilation(image_, device_id);
  // Load the image without a lock.  The driver, or the backtrace of an error, may wait for the
  // dynamic loader, which may run an initialiser that launches a kernel.  If several threads load
  // the image concurrently, all use the copy that is stored first, and the other copies are
  // unloaded.
  auto loaded = std::make_unique<ImageOnDevice>(driver, device_id, image_, num_kernels_);
  if (!device.compare_exchange_strong(known, loaded.get(), std::memory_order_acq_rel)) {
    return *known;
  }
  return *loaded.release();
}

}  // namespace tvm::ffi::extra::cuda
