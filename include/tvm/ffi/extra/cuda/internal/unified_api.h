// SPDX-License-Identifier: Apache-2.0
// Loading and launching of cubins with either the CUDA driver API or the CUDA runtime API.
//
// In both variants, a library is loaded once for all devices.  CUDA copies its code to a device
// when a kernel is first used there.  A kernel is launched on the current device of the calling
// thread.
#ifndef TVM_FFI_EXTRA_CUDA_INTERNAL_UNIFIED_API_H_
#define TVM_FFI_EXTRA_CUDA_INTERNAL_UNIFIED_API_H_

#include <cuda_runtime.h>

// If this macro is 1, use the driver API, which needs -lcuda; if it is 0, use the runtime API,
// which needs CUDA 12.8 or later.
#ifndef TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
#if CUDART_VERSION >= 12080
#define TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API 0
#else
#define TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API 1
#endif
#endif

// An inline namespace contains everything that depends on the API (driver or runtime).  The
// namespace gives the two variants different symbols, so that one program can contain code compiled
// for the driver API and code compiled for the runtime API.
#if TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
#include <tvm/ffi/extra/cuda/internal/driver_api.h>
#define TVM_FFI_CUBIN_API_VARIANT_ driver_api
#else
#if CUDART_VERSION < 12080
#error "CUDA before 12.8 needs TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=1"
#endif
#include <tvm/ffi/extra/cuda/internal/runtime_api.h>
#define TVM_FFI_CUBIN_API_VARIANT_ runtime_api
#endif

// Statement that calls a cuda_api function and throws RuntimeError if it fails.  Evaluates `stmt`
// once.
#define TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(stmt)                                        \
  do {                                                                                       \
    ::tvm::ffi::cuda_api::ResultType tvm_ffi_cubin_status = (stmt);                          \
    if (TVM_FFI_PREDICT_FALSE(tvm_ffi_cubin_status != ::tvm::ffi::cuda_api::kSuccess)) {     \
      ::tvm::ffi::cuda_api::ThrowStatus(                                                     \
          tvm_ffi_cubin_status, ::TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0)); \
    }                                                                                        \
  } while (false)

namespace tvm {
namespace ffi {
namespace cuda_api {
inline namespace TVM_FFI_CUBIN_API_VARIANT_ {

using StreamHandle = ::cudaStream_t;  // the runtime API's name of CUstream

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowStatus(ResultType status,
                                                      const TVMFFIByteArray* backtrace) {
  const char* name = nullptr;
  const char* text = nullptr;
  GetErrorString(status, &name, &text);
  detail::ThrowCudaStatus("CUDA Error: ", name, static_cast<int>(status), text, backtrace);
}

inline DeviceHandle GetDeviceHandle(int device_id) {
  DeviceHandle device;
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(FindDevice(&device, device_id));
  return device;
}

// Fills `config` for LaunchKernelEx.  If cluster_dim is greater than 1, `config` borrows
// `attribute`, so `attribute` must outlive `config`.
inline ResultType ConstructLaunchConfig(KernelHandle, StreamHandle stream, uint32_t dyn_smem_bytes,
                                        dim3 grid, dim3 block, int cluster_dim,
                                        LaunchConfig& config, LaunchAttrType& attribute) {
  config = LaunchConfig{};
  SetExtents(config, grid, block);
  SetStream(config, stream, dyn_smem_bytes);
  if (cluster_dim > 1) {
    SetCluster(attribute, dim3(static_cast<unsigned int>(cluster_dim)));
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  return kSuccess;
}

}  // namespace TVM_FFI_CUBIN_API_VARIANT_
}  // namespace cuda_api
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_CUDA_INTERNAL_UNIFIED_API_H_
