// SPDX-License-Identifier: Apache-2.0
// Loaded device images: an image is loaded on a device when one of its kernels first runs there.
//
// After the image is loaded, finding one of its kernels costs two atomic loads and no lock.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_DEVICES_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_DEVICES_H_

#include <tvm/ffi/base_detail.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda/signature.h"

namespace tvm::ffi::extra::cuda {

// The state of one kernel of an image that is loaded on a device.
struct KernelOnDevice {
  std::atomic<Kernel> handle{nullptr};
  // The limit of dynamic shared memory in bytes that was set in the driver for this kernel.
  std::atomic<uint32_t> dynamic_shared_memory{0};
  std::atomic<bool> has_large_clusters{false};
};

// An image that is loaded on one device.
class ImageOnDevice {
 public:
  // Loads the image `image` into the device's primary context.
  ImageOnDevice(const Driver& driver, int device_id, const std::string& image, size_t num_kernels);
  // Unloads the image, unless the driver is shutting down.
  ~ImageOnDevice();

  Context context() const { return context_; }
  // Returns the driver's handle of the kernel with the name `symbol` in the image.  index: number
  // of the kernel in the module.  The context of the device must be current.
  Kernel Find(size_t index, const std::string& symbol) {
    Kernel known = kernels_[index].handle.load(std::memory_order_acquire);
    return TVM_FFI_PREDICT_TRUE(known != nullptr) ? known : FindFirst(index, symbol);
  }
  // Raises the kernel's limit of dynamic shared memory to at least `bytes`.  Calls the driver only
  // if `bytes` exceeds the present limit.
  void ReserveSharedMemory(size_t index, uint32_t bytes, const std::string& symbol);
  // Same as ReserveSharedMemory, but does nothing if `bytes` is at most 48 KiB, because the driver
  // always allows this size.  Fails with an error that names the device's limit if `bytes` exceeds
  // that limit.
  void GrantSharedMemory(size_t index, uint32_t bytes, const std::string& symbol) {
    constexpr uint32_t kFree = 48 << 10;
    if (TVM_FFI_PREDICT_FALSE(bytes > kFree)) GrantLargeSharedMemory(index, bytes, symbol);
  }
  // Allows the kernel to use clusters of more than 8 blocks.  Not every device supports such
  // clusters.
  void GrantCluster(size_t index, uint32_t blocks, const std::string& symbol);

 private:
  void Load(const std::string& image);
  Kernel FindFirst(size_t index, const std::string& symbol);
  Result RaiseSharedMemory(KernelOnDevice* kernel, uint32_t bytes);
  void GrantLargeSharedMemory(size_t index, uint32_t bytes, const std::string& symbol);
  std::string Location(const std::string& symbol) const;

  const Driver& driver_;
  int device_id_;
  Device device_ = 0;
  Context context_ = nullptr;
  LoadedImage loaded_ = nullptr;
  std::mutex growth_mutex_;  // held while a limit is raised; released before errors are thrown
  std::unique_ptr<KernelOnDevice[]> kernels_;
};

// A device image, and for each device the ImageOnDevice that is created when the image is loaded.
class ImageOnDevices {
 public:
  static constexpr int kMaxDevices = 256;

  ImageOnDevices(std::string image, size_t num_kernels)
      : image_(std::move(image)), num_kernels_(num_kernels) {}
  ~ImageOnDevices();

  const std::string& image() const { return image_; }
  // Returns the state of the image on the device with the id `device_id`.  The first call for a
  // device loads the image.
  ImageOnDevice& At(const Driver& driver, int device_id);

 private:
  std::string image_;
  size_t num_kernels_;
  std::atomic<ImageOnDevice*> devices_[kMaxDevices] = {};
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_DEVICES_H_
