// SPDX-License-Identifier: Apache-2.0
// Kernels out of a cubin: a CUDA image that was compiled earlier and travels inside this library.
//
//   TVM_FFI_EMBED_CUBIN(scale);
//   ...
//   static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(scale, "scale_f32");
//   void* args[] = {&x, &n};  // the address of each argument
//   TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.Launch(args, grid, block, stream));
//
// Modules and kernels serve all devices; a launch takes place on the one that is current on the
// calling thread, see CUDADeviceGuard.
#ifndef TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_
#define TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_

#include <cuda.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/internal/unified_api.h>
#include <tvm/ffi/string.h>

#include <climits>

namespace tvm {
namespace ffi {
inline namespace TVM_FFI_CUBIN_API_VARIANT_ {

// A kernel of a module, which must outlive it; a moved-from kernel is empty.
class CubinKernel {
 public:
  // RuntimeError when the library has no kernel of this name.
  CubinKernel(cuda_api::LibraryHandle library, const char* name) {
    cuda_api::ResultType status = cuda_api::GetKernel(&kernel_, library, name);
    if (TVM_FFI_PREDICT_FALSE(status != cuda_api::kSuccess)) ThrowNotFound(status, name);
  }
  CubinKernel(CubinKernel&& other) noexcept : kernel_(std::exchange(other.kernel_, nullptr)) {}
  CubinKernel& operator=(CubinKernel&& other) noexcept {
    kernel_ = std::exchange(other.kernel_, nullptr);
    return *this;
  }

  // args: the address of each argument, read before the call returns.  The status is the launch's
  // own; what the kernel does wrong is reported by a later call.
  cuda_api::ResultType Launch(void** args, dim3 grid, dim3 block, cuda_api::StreamHandle stream,
                              uint32_t dyn_smem_bytes = 0) const {
    return cuda_api::LaunchKernel(kernel_, args, grid, block, stream, dyn_smem_bytes);
  }
  // With launch attributes, a cluster for one; cuda_api::ConstructLaunchConfig fills a config.
  cuda_api::ResultType LaunchEx(void** args, const cuda_api::LaunchConfig& config) const {
    return cuda_api::LaunchKernelEx(kernel_, args, config);
  }
  cuda_api::KernelHandle GetHandle() const { return kernel_; }

 private:
  friend class CubinModule;

  [[noreturn]] TVM_FFI_FAILURE_ static void ThrowNotFound(cuda_api::ResultType status,
                                                          const char* name) {
    const char* error = nullptr;
    const char* text = nullptr;
    cuda_api::GetErrorString(status, &error, &text);
    TVM_FFI_THROW(RuntimeError) << "CUDA Error: " << error << " (" << static_cast<int>(status)
                                << "): " << text << " (kernel `" << name << "`)";
  }

  // Lets launches on one device ask for `bytes`, or, when that is -1, for all that is left there.
  cuda_api::ResultType AllowDynamicSharedMemory(int64_t bytes, cuda_api::DeviceHandle device) const;
  void AllowDynamicSharedMemoryEverywhere(int64_t bytes, const char* name) const;

  cuda_api::KernelHandle kernel_ = nullptr;
};

// A loaded image, which is unloaded with the object; a moved-from module is empty.
class CubinModule {
 public:
  // RuntimeError when CUDA cannot load the image: a cubin, a fatbin, or PTX that ends in a NUL.
  explicit CubinModule(const Bytes& image) { Load(image.data()); }
  explicit CubinModule(const char* image) { Load(image); }
  explicit CubinModule(const unsigned char* image) { Load(image); }
  CubinModule(CubinModule&& other) noexcept : library_(std::exchange(other.library_, nullptr)) {}
  CubinModule& operator=(CubinModule&& other) noexcept {
    CubinModule taken(std::move(other));
    std::swap(library_, taken.library_);
    return *this;
  }
  // Whether that works is of no use to anyone: it fails when CUDA itself ended before.
  ~CubinModule() {
    if (library_ != nullptr) static_cast<void>(cuda_api::UnloadLibrary(library_));
  }

  // RuntimeError when the image has no kernel of this name.
  CubinKernel GetKernel(const char* name) const { return CubinKernel(library_, name); }
  CubinKernel operator[](const char* name) const { return CubinKernel(library_, name); }

  // The same for launches that need more dynamic shared memory than the 48 KiB which every kernel
  // may have: dynamic_smem_max bytes or, when it is -1, as many as the kernel's static shared
  // memory leaves on the device.  Devices that refuse are passed over; RuntimeError when all do.
  CubinKernel GetKernelWithMaxDynamicSharedMemory(const char* name,
                                                  int64_t dynamic_smem_max = -1) const {
    CubinKernel kernel(library_, name);
    kernel.AllowDynamicSharedMemoryEverywhere(dynamic_smem_max, name);
    return kernel;
  }

  cuda_api::LibraryHandle GetHandle() const { return library_; }

 private:
  void Load(const void* image) {
    TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(cuda_api::LoadLibrary(&library_, image));
  }

  cuda_api::LibraryHandle library_ = nullptr;
};

inline cuda_api::ResultType CubinKernel::AllowDynamicSharedMemory(
    int64_t bytes, cuda_api::DeviceHandle device) const {
  int limit = static_cast<int>(bytes);
  if (bytes == -1) {
    int static_bytes = 0;
    cuda_api::ResultType status =
        cuda_api::GetDeviceAttribute(&limit, cuda_api::kMaxSharedMemoryPerBlock, device);
    if (status != cuda_api::kSuccess) return status;
    status = cuda_api::GetKernelSharedMem(kernel_, static_bytes, device);
    if (status != cuda_api::kSuccess) return status;
    limit = limit > static_bytes ? limit - static_bytes : 0;
  }
  return cuda_api::SetKernelMaxDynamicSharedMem(kernel_, limit, device);
}

inline void CubinKernel::AllowDynamicSharedMemoryEverywhere(int64_t bytes, const char* name) const {
  if (bytes < -1 || bytes > INT_MAX) {
    TVM_FFI_THROW(ValueError) << "dynamic shared memory of kernel `" << name
                              << "` must be -1 or 0 to " << INT_MAX << " bytes, got " << bytes;
  }
  int device_count = 0;
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(cuda_api::GetDeviceCount(&device_count));
  int allowing_devices = 0;
  for (int i = 0; i < device_count; ++i) {
    cuda_api::DeviceHandle device = cuda_api::GetDeviceHandle(i);
    if (AllowDynamicSharedMemory(bytes, device) == cuda_api::kSuccess) ++allowing_devices;
  }
  if (allowing_devices > 0) return;
  TVM_FFI_THROW(RuntimeError) << "Failed to set dynamic shared memory attribute for any device"
                              << " (kernel `" << name << "`, " << bytes << " bytes, "
                              << device_count << " devices)";
}

}  // namespace TVM_FFI_CUBIN_API_VARIANT_
}  // namespace ffi
}  // namespace tvm

// ---- Images inside the library ----------------------------------------------------------------
// Both macros stand at namespace scope.  The module is loaded when it is first asked for, and stays
// loaded: when static objects are destroyed, CUDA may not be called any more.

// The image is linked in under the symbol __tvm_ffi__cubin_<name>, with __tvm_ffi__cubin_<name>_end
// behind it.  Hidden: another library may have a cubin of the same name.
#define TVM_FFI_EMBED_CUBIN(name)                                       \
  extern "C" TVM_FFI_HIDDEN const char __tvm_ffi__cubin_##name[];       \
  extern "C" TVM_FFI_HIDDEN const char __tvm_ffi__cubin_##name##_end[]; \
  TVM_FFI_EMBED_CUBIN_MODULE_(EmbedCubinModule_##name, __tvm_ffi__cubin_##name)

// The image is in an array of this file, or whatever else a CubinModule is made from.
#define TVM_FFI_EMBED_CUBIN_FROM_BYTES(name, bytes) \
  TVM_FFI_EMBED_CUBIN_MODULE_(EmbedCubinModule_##name, bytes)

#define TVM_FFI_EMBED_CUBIN_MODULE_(ClassName, image)                           \
  namespace {                                                                   \
  struct ClassName {                                                            \
    ::tvm::ffi::CubinModule mod{image};                                         \
    static ClassName* Global() {                                                \
      static void* instance;                                                    \
      ::tvm::ffi::detail::CheckSafeCall(TVMFFIHandleInitOnce(&instance, Make)); \
      return static_cast<ClassName*>(instance);                                 \
    }                                                                           \
    static int Make(void** instance) {                                          \
      try {                                                                     \
        *instance = new ClassName;                                              \
        return 0;                                                               \
      } catch (...) {                                                           \
        return ::tvm::ffi::detail::RaiseCurrentException();                     \
      }                                                                         \
    }                                                                           \
  };                                                                            \
  }

// A CubinKernel; keep it in a static variable, finding it is not free.
#define TVM_FFI_EMBED_CUBIN_GET_KERNEL(name, kernel_name) \
  (EmbedCubinModule_##name::Global()->mod[kernel_name])

#endif  // TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_
