// SPDX-License-Identifier: Apache-2.0
// CUDA driver API, loaded from libcuda.so.1 at run time, so that the build needs no CUDA.
//
// Declares the types, constants and functions that CUDA modules use; a test compares them with the
// toolkit's header if one is installed.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_DRIVER_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_DRIVER_H_

#include <tvm/ffi/base_detail.h>

#include <cstddef>
#include <string>

namespace tvm::ffi::extra::cuda {

using Result = int;  // status code of a driver function; 0 is success
using Device = int;
using Context = struct ContextTag*;
using LoadedImage = struct LoadedImageTag*;  // CUmodule
using Kernel = struct KernelTag*;
using Stream = struct StreamTag*;

constexpr Result kInvalidContext = 201;
constexpr Result kInvalidHandle = 400;
constexpr int kJitErrorLogBuffer = 5;
constexpr int kJitErrorLogBufferSizeBytes = 6;
constexpr int kMaxDynamicSharedSizeBytes = 8;  // kernel attributes
constexpr int kNonPortableClusterSizeAllowed = 14;
constexpr int kComputeCapabilityMajor = 75;  // device attributes
constexpr int kComputeCapabilityMinor = 76;
constexpr int kMaxSharedMemoryPerBlockOptin = 97;
constexpr unsigned kCooperative = 2;  // launch attributes
constexpr unsigned kClusterDimension = 4;
constexpr unsigned kProgrammaticStreamSerialization = 6;
constexpr int kCaptureModeRelaxed = 2;

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// Launch attribute with the same layout as CUlaunchAttribute of the driver.
struct LaunchAttribute {
  unsigned id;
  unsigned padding;
  union {
    char bytes[64];
    int flag;
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  unsigned shared_memory_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned num_attributes;
};

// The functions of the CUDA driver API that this runtime calls.  A function marked OPTIONAL is null
// if the driver is too old to have it.
#define TVM_FFI_CUDA_DRIVER_FUNCTIONS(REQUIRED, OPTIONAL)                                          \
  REQUIRED(init, "cuInit", (unsigned flags))                                                       \
  REQUIRED(get_error_name, "cuGetErrorName", (Result status, const char** name))                   \
  REQUIRED(get_error_string, "cuGetErrorString", (Result status, const char** text))               \
  REQUIRED(device_get, "cuDeviceGet", (Device * device, int ordinal))                              \
  REQUIRED(device_get_name, "cuDeviceGetName", (char* name, int size, Device device))              \
  REQUIRED(device_get_attribute, "cuDeviceGetAttribute",                                           \
           (int* value, int attribute, Device device))                                             \
  REQUIRED(primary_context_retain, "cuDevicePrimaryCtxRetain", (Context * context, Device device)) \
  REQUIRED(primary_context_release, "cuDevicePrimaryCtxRelease_v2", (Device device))               \
  REQUIRED(context_get_current, "cuCtxGetCurrent", (Context * context))                            \
  REQUIRED(context_set_current, "cuCtxSetCurrent", (Context context))                              \
  REQUIRED(context_get_device, "cuCtxGetDevice", (Device * device))                                \
  REQUIRED(module_load, "cuModuleLoadDataEx",                                                      \
           (LoadedImage * loaded, const void* image, unsigned num_options, const int* options,     \
            void** values))                                                                        \
  REQUIRED(module_unload, "cuModuleUnload", (LoadedImage loaded))                                  \
  REQUIRED(module_get_function, "cuModuleGetFunction",                                             \
           (Kernel * kernel, LoadedImage loaded, const char* name))                                \
  REQUIRED(function_set_attribute, "cuFuncSetAttribute",                                           \
           (Kernel kernel, int attribute, int value))                                              \
  REQUIRED(launch_kernel, "cuLaunchKernel",                                                        \
           (Kernel kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,    \
            unsigned block_y, unsigned block_z, unsigned shared_memory_bytes, Stream stream,       \
            void** params, void** extra))                                                          \
  OPTIONAL(launch_kernel_ex, "cuLaunchKernelEx",                                                   \
           (const LaunchConfig* config, Kernel kernel, void** params, void** extra))               \
  OPTIONAL(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int* mode))

struct Driver {
#define TVM_FFI_CUDA_DECLARE_(member, symbol, parameters) Result(*member) parameters = nullptr;
  TVM_FFI_CUDA_DRIVER_FUNCTIONS(TVM_FFI_CUDA_DECLARE_, TVM_FFI_CUDA_DECLARE_)
#undef TVM_FFI_CUDA_DECLARE_

  // Returns the driver library.  The first call opens and initialises the library, which is never
  // closed.
  //
  // Fails: RuntimeError that names the missing library or function; the next call tries again.
  // Threads: any; costs one atomic load after the first call.
  static const Driver& Get();

  // Throws RuntimeError "CUDA driver: <function> failed<location>: <NAME> (<status>): <text>".
  [[noreturn]] void Throw(const char* function, Result status, const std::string& location,
                          const std::string& log = std::string()) const;
};

// Makes a CUDA context current for a scope and restores the previous context at the end of the
// scope.  Restore() restores the previous context earlier, and throws if that fails.
class ContextScope {
 public:
  ContextScope(const Driver& driver, Context context) : driver_(driver) {
    Result status = driver_.context_get_current(&previous_);
    if (TVM_FFI_PREDICT_FALSE(status != 0)) driver_.Throw("cuCtxGetCurrent", status, "");
    if (previous_ != context) Change(context);
  }
  // Ignores errors, because the destructor may run during stack unwinding, when a second exception
  // would end the process.
  ~ContextScope() {
    if (is_changed_) driver_.context_set_current(previous_);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  bool is_changed() const { return is_changed_; }
  void Restore() {
    if (!is_changed_) return;
    is_changed_ = false;
    Result status = driver_.context_set_current(previous_);
    if (TVM_FFI_PREDICT_FALSE(status != 0)) {
      driver_.Throw("cuCtxSetCurrent", status, " while restoring the previous context");
    }
  }

 private:
  void Change(Context context) {
    Result status = driver_.context_set_current(context);
    if (TVM_FFI_PREDICT_FALSE(status != 0)) driver_.Throw("cuCtxSetCurrent", status, "");
    is_changed_ = true;
  }

  const Driver& driver_;
  Context previous_ = nullptr;
  bool is_changed_ = false;
};

// Sets the thread's stream capture mode to relaxed for a scope.  In the other modes, the driver
// refuses to load and unload images while any stream is captured into a graph.
class RelaxedCaptureScope {
 public:
  explicit RelaxedCaptureScope(const Driver& driver) : driver_(driver) { Exchange(); }
  RelaxedCaptureScope(const RelaxedCaptureScope&) = delete;
  RelaxedCaptureScope& operator=(const RelaxedCaptureScope&) = delete;
  ~RelaxedCaptureScope() { Exchange(); }

 private:
  void Exchange() {
    if (driver_.exchange_capture_mode != nullptr) driver_.exchange_capture_mode(&mode_);
  }

  const Driver& driver_;
  int mode_ = kCaptureModeRelaxed;
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_DRIVER_H_
