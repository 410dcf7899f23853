// SPDX-License-Identifier: Apache-2.0
// CUDA runtime API variant of unified_api.h, for CUDA 12.8 and later; unified_api.h includes this
// file.
#ifndef TVM_FFI_EXTRA_CUDA_INTERNAL_RUNTIME_API_H_
#define TVM_FFI_EXTRA_CUDA_INTERNAL_RUNTIME_API_H_

#include <tvm/ffi/extra/cuda/base.h>

namespace tvm {
namespace ffi {
namespace cuda_api {
inline namespace runtime_api {

using DeviceHandle = int;
using LibraryHandle = ::cudaLibrary_t;
using KernelHandle = ::cudaKernel_t;
using LaunchConfig = ::cudaLaunchConfig_t;
using ResultType = ::cudaError_t;
using LaunchAttrType = ::cudaLaunchAttribute;
using DeviceAttrType = ::cudaDeviceAttr;

constexpr ResultType kSuccess = ::cudaSuccess;
constexpr DeviceAttrType kMaxSharedMemoryPerBlock = ::cudaDevAttrMaxSharedMemoryPerBlockOptin;

// Stores the name and description of a status, also for codes that the runtime does not know.
inline void GetErrorString(ResultType status, const char** name, const char** text) {
  *name = ::cudaGetErrorName(status);
  *text = ::cudaGetErrorString(status);
}

inline ResultType GetDeviceCount(int* count) { return ::cudaGetDeviceCount(count); }
inline ResultType FindDevice(DeviceHandle* device, int device_id) {
  *device = device_id;
  return kSuccess;
}
inline ResultType GetDeviceAttribute(int* value, DeviceAttrType attribute, DeviceHandle device) {
  return ::cudaDeviceGetAttribute(value, attribute, device);
}

inline ResultType LoadLibrary(LibraryHandle* library, const void* image) {
  return ::cudaLibraryLoadData(library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}
inline ResultType UnloadLibrary(LibraryHandle library) { return ::cudaLibraryUnload(library); }
inline ResultType GetKernel(KernelHandle* kernel, LibraryHandle library, const char* name) {
  return ::cudaLibraryGetKernel(kernel, library, name);
}

// Stores the static shared memory of a block of the kernel, in bytes.  Always queries the current
// device.  The runtime API has no device parameter, and setting another current device would create
// a CUDA context on that device.
inline ResultType GetKernelSharedMem(KernelHandle kernel, int& bytes, DeviceHandle) {
  ::cudaFuncAttributes attributes;
  ResultType status = ::cudaFuncGetAttributes(&attributes, static_cast<const void*>(kernel));
  if (status == kSuccess) bytes = static_cast<int>(attributes.sharedSizeBytes);
  return status;
}
inline ResultType SetKernelMaxDynamicSharedMem(KernelHandle kernel, int bytes,
                                               DeviceHandle device) {
  return ::cudaKernelSetAttributeForDevice(kernel, ::cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           bytes, device);
}

inline ::dim3 NativeExtent(dim3 extent) { return ::dim3(extent.x, extent.y, extent.z); }

inline ResultType LaunchKernel(KernelHandle kernel, void** args, dim3 grid, dim3 block,
                               ::cudaStream_t stream, uint32_t dyn_smem_bytes) {
  return ::cudaLaunchKernel(static_cast<const void*>(kernel), NativeExtent(grid),
                            NativeExtent(block), args, dyn_smem_bytes, stream);
}
inline ResultType LaunchKernelEx(KernelHandle kernel, void** args, const LaunchConfig& config) {
  return ::cudaLaunchKernelExC(&config, static_cast<const void*>(kernel), args);
}

inline void SetExtents(LaunchConfig& config, dim3 grid, dim3 block) {
  config.gridDim = NativeExtent(grid);
  config.blockDim = NativeExtent(block);
}
inline void SetStream(LaunchConfig& config, ::cudaStream_t stream, uint32_t dyn_smem_bytes) {
  config.stream = stream;
  config.dynamicSmemBytes = dyn_smem_bytes;
}
inline void SetCluster(LaunchAttrType& attribute, dim3 cluster) {
  attribute.id = ::cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
}

}  // namespace runtime_api
}  // namespace cuda_api
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_CUDA_INTERNAL_RUNTIME_API_H_
