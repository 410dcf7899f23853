// SPDX-License-Identifier: Apache-2.0
// An image on the devices where it has been used.  A device gets it when a kernel first runs there;
// from then on finding it costs two loads and no lock.
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

// A kernel on one device.
struct KernelOnDevice {
  std::atomic<Kernel> handle{nullptr};
  std::atomic<uint32_t> dynamic_shared_memory{0};  // bytes that launches have asked for
  std::atomic<bool> has_large_clusters{false};
};

class ImageOnDevice {
 public:
  // Makes the image a part of the device's primary context.
  ImageOnDevice(const Driver& driver, int device_id, const std::string& image, size_t num_kernels);
  // Takes it out again; nothing is done when the driver is shutting down.
  ~ImageOnDevice();

  Context context() const { return context_; }
  // The kernel of a symbol, which `index` numbers.  The context must be current.
  Kernel Find(size_t index, const std::string& symbol) {
    Kernel known = kernels_[index].handle.load(std::memory_order_acquire);
    return TVM_FFI_PREDICT_TRUE(known != nullptr) ? known : FindFirst(index, symbol);
  }
  // Lets the kernel be launched with so much dynamic shared memory; only growth costs a call.
  void ReserveSharedMemory(size_t index, uint32_t bytes, const std::string& symbol);
  // The same for launches that may not ask: up to 48 KiB need no call, and more than a block has on
  // the device is an error that says how much that is.
  void GrantSharedMemory(size_t index, uint32_t bytes, const std::string& symbol) {
    constexpr uint32_t kFree = 48 << 10;
    if (TVM_FFI_PREDICT_FALSE(bytes > kFree)) GrantMuchSharedMemory(index, bytes, symbol);
  }
  // Lets the kernel be launched with clusters of more than 8 blocks, which not all devices have.
  void GrantCluster(size_t index, uint32_t blocks, const std::string& symbol);

 private:
  void Load(const std::string& image);
  Kernel FindFirst(size_t index, const std::string& symbol);
  Result RaiseSharedMemory(KernelOnDevice* kernel, uint32_t bytes);
  void GrantMuchSharedMemory(size_t index, uint32_t bytes, const std::string& symbol);
  std::string Where(const std::string& symbol) const;

  const Driver& driver_;
  int device_id_;
  Device device_ = 0;
  Context context_ = nullptr;
  LoadedImage loaded_ = nullptr;
  std::mutex growth_mutex_;  // the largest wish must be the last; nothing is raised under it
  std::unique_ptr<KernelOnDevice[]> kernels_;
};

class ImageOnDevices {
 public:
  static constexpr int kMaxDevices = 256;

  ImageOnDevices(std::string image, size_t num_kernels)
      : image_(std::move(image)), num_kernels_(num_kernels) {}
  ~ImageOnDevices();

  const std::string& image() const { return image_; }
  ImageOnDevice& At(const Driver& driver, int device_id);

 private:
  std::string image_;
  size_t num_kernels_;
  std::atomic<ImageOnDevice*> devices_[kMaxDevices] = {};
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_DEVICES_H_
