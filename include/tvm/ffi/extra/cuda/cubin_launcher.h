// SPDX-License-Identifier: Apache-2.0
// CubinModule, CubinKernel: launch kernels of a cubin, a compiled CUDA device image, that can be
// embedded in the library.
//
//   TVM_FFI_EMBED_CUBIN(scale);
//   ...
//   static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(scale, "scale_f32");
//   void* args[] = {&x, &n};  // the address of each argument
//   TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.Launch(args, grid, block, stream));
//
// A module and its kernels can be used on all devices.  A kernel is launched on the current device
// of the calling thread: see CUDADeviceGuard.
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

// A kernel of a CubinModule.  The module must outlive the kernel.  A moved-from object has no
// kernel.
class CubinKernel {
 public:
  // Looks up a kernel by name.  Fails: RuntimeError if the library has no kernel of this name.
  CubinKernel(cuda_api::LibraryHandle library, const char* name) {
    cuda_api::ResultType status = cuda_api::GetKernel(&kernel_, library, name);
    if (TVM_FFI_PREDICT_FALSE(status != cuda_api::kSuccess)) ThrowNotFound(status, name);
  }
  CubinKernel(CubinKernel&& other) noexcept : kernel_(std::exchange(other.kernel_, nullptr)) {}
  CubinKernel& operator=(CubinKernel&& other) noexcept {
    kernel_ = std::exchange(other.kernel_, nullptr);
    return *this;
  }

  // Launches the kernel and returns the status of the launch.  `args` contains the address of each
  // argument; the arguments are copied before the call returns.  Errors during the execution of the
  // kernel are reported by a later CUDA call.
  cuda_api::ResultType Launch(void** args, dim3 grid, dim3 block, cuda_api::StreamHandle stream,
                              uint32_t dyn_smem_bytes = 0) const {
    return cuda_api::LaunchKernel(kernel_, args, grid, block, stream, dyn_smem_bytes);
  }
  // Launches the kernel with launch attributes, such as a cluster size: see
  // cuda_api::ConstructLaunchConfig.
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

  // Allows launches on a device to use `bytes` of dynamic shared memory; -1 means the device's
  // maximum minus the kernel's static shared memory.
  cuda_api::ResultType AllowDynamicSharedMemory(int64_t bytes, cuda_api::DeviceHandle device) const;
  void AllowDynamicSharedMemoryEverywhere(int64_t bytes, const char* name) const;

  cuda_api::KernelHandle kernel_ = nullptr;
};

// A loaded device image.  The destructor unloads the image.  A moved-from object has no image.
class CubinModule {
 public:
  // Load a device image: a cubin, a fatbin, or NUL-terminated PTX.  Fails: RuntimeError if CUDA
  // cannot load it.
  explicit CubinModule(const Bytes& image) { Load(image.data()); }
  explicit CubinModule(const char* image) { Load(image); }
  explicit CubinModule(const unsigned char* image) { Load(image); }
  CubinModule(CubinModule&& other) noexcept : library_(std::exchange(other.library_, nullptr)) {}
  CubinModule& operator=(CubinModule&& other) noexcept {
    CubinModule moved(std::move(other));
    std::swap(library_, moved.library_);
    return *this;
  }
  // Ignore the status of the call, because unloading fails if CUDA was shut down earlier.
  ~CubinModule() {
    if (library_ != nullptr) static_cast<void>(cuda_api::UnloadLibrary(library_));
  }

  // Return a kernel.  Fails: RuntimeError if the image has no kernel of this name.
  CubinKernel GetKernel(const char* name) const { return CubinKernel(library_, name); }
  CubinKernel operator[](const char* name) const { return CubinKernel(library_, name); }

  // Returns a kernel that may use more dynamic shared memory than the default limit of 48 KiB.  The
  // new limit is dynamic_smem_max bytes, or, if dynamic_smem_max is -1, the device's maximum minus
  // the kernel's static shared memory.  The limit is set on every device that supports it.  Fails:
  // RuntimeError if no device supports the limit.
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

// ---- Device images embedded in the library ----------------------------------------------------
// Use the TVM_FFI_EMBED_CUBIN macros at namespace scope.  The module is loaded on first use and
// never unloaded, because CUDA must not be called while static objects are destroyed.

// Declares a device image that is linked into the library between the symbols
// __tvm_ffi__cubin_<name> and __tvm_ffi__cubin_<name>_end.  The symbols are hidden, because another
// library may have a cubin of the same name.
#define TVM_FFI_EMBED_CUBIN(name)                                        \
  extern "C" TVM_FFI_HIDDEN_ const char __tvm_ffi__cubin_##name[];       \
  extern "C" TVM_FFI_HIDDEN_ const char __tvm_ffi__cubin_##name##_end[]; \
  TVM_FFI_EMBED_CUBIN_MODULE_(EmbedCubinModule_##name, __tvm_ffi__cubin_##name)

// Declares a device image from an array, or from another constructor argument of CubinModule.
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

// Returns a CubinKernel of an embedded image.  Store it in a static variable, because each use of
// this macro looks the kernel up by name.
#define TVM_FFI_EMBED_CUBIN_GET_KERNEL(name, kernel_name) \
  (EmbedCubinModule_##name::Global()->mod[kernel_name])

#endif  // TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_
