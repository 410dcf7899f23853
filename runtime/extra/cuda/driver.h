// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, found at run time: no header and no library of CUDA is needed to build us.
//
// Declared here are the few types, numbers and functions that modules need; tests compare them with
// the toolkit's header where there is one.  Handles are the driver's own.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_DRIVER_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_DRIVER_H_

#include <tvm/ffi/base_detail.h>

#include <cstddef>
#include <string>

namespace tvm::ffi::extra::cuda {

using Result = int;  // 0 is success
using Device = int;
using Context = struct ContextTag*;
using LoadedImage = struct LoadedImageTag*;  // what the driver calls a module
using Kernel = struct KernelTag*;
using Stream = struct StreamTag*;

constexpr int kJitErrorLogBuffer = 5;
constexpr int kJitErrorLogBufferSizeBytes = 6;
constexpr int kMaxDynamicSharedSizeBytes = 8;  // attribute of a kernel
constexpr int kNonPortableClusterSizeAllowed = 14;
constexpr int kComputeCapabilityMajor = 75;  // attributes of a device
constexpr int kComputeCapabilityMinor = 76;
constexpr int kMaxSharedMemoryPerBlockOptin = 97;
constexpr unsigned kCooperative = 2;  // attributes of a launch
constexpr unsigned kClusterDimension = 4;
constexpr unsigned kProgrammaticStreamSerialization = 6;
constexpr int kCaptureModeRelaxed = 2;

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// An attribute of a launch.
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

// ORDER of the members; OPTIONAL ones are null in drivers that are older than the function.
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

  // The driver, opened and initialised by the first call.  It stays for the life of the process.
  //
  // Fails: RuntimeError that says what is missing; the next call tries again.
  // Threads: any; a pointer is read when the driver is there already.
  static const Driver& Get();

  // Throws RuntimeError "CUDA driver: <function> failed<where>: <NAME> (<status>): <text>".
  [[noreturn]] void Throw(const char* function, Result status, const std::string& where,
                          const std::string& log = std::string()) const;
};

// Makes a context current for a scope.  The previous one comes back on every way out; Restore() is
// the way that reports when it does not.
class ContextScope {
 public:
  ContextScope(const Driver& driver, Context context) : driver_(driver) {
    Result status = driver_.context_get_current(&previous_);
    if (TVM_FFI_PREDICT_FALSE(status != 0)) driver_.Throw("cuCtxGetCurrent", status, "");
    if (previous_ != context) Change(context);
  }
  // Reached with a change when an exception is on its way; a second one would end the process.
  ~ContextScope() {
    if (is_changed_) driver_.context_set_current(previous_);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  void Restore() {
    if (!is_changed_) return;
    is_changed_ = false;
    Result status = driver_.context_set_current(previous_);
    if (TVM_FFI_PREDICT_FALSE(status != 0)) {
      driver_.Throw("cuCtxSetCurrent", status, " when the previous context came back");
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

// Relaxes the thread's mode of stream capture.  While a stream of the process is captured into a
// graph, loading and unloading would be refused otherwise; what they do concerns no stream.
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
