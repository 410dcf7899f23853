// SPDX-License-Identifier: Apache-2.0
// CUDA driver API variant of unified_api.h, which includes this file.
#ifndef TVM_FFI_EXTRA_CUDA_INTERNAL_DRIVER_API_H_
#define TVM_FFI_EXTRA_CUDA_INTERNAL_DRIVER_API_H_

#include <cuda.h>
#include <tvm/ffi/extra/cuda/base.h>

namespace tvm {
namespace ffi {
namespace cuda_api {
inline namespace driver_api {

using DeviceHandle = ::CUdevice;
using LibraryHandle = ::CUlibrary;
using KernelHandle = ::CUkernel;
using LaunchConfig = ::CUlaunchConfig;
using ResultType = ::CUresult;
using LaunchAttrType = ::CUlaunchAttribute;
using DeviceAttrType = ::CUdevice_attribute;

constexpr ResultType kSuccess = ::CUDA_SUCCESS;
constexpr DeviceAttrType kMaxSharedMemoryPerBlock =
    ::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;

// Stores the name and description of a status, also for codes that the driver does not know.
inline void GetErrorString(ResultType status, const char** name, const char** text) {
  if (::cuGetErrorName(status, name) != kSuccess) *name = "unrecognized error code";
  if (::cuGetErrorString(status, text) != kSuccess) *text = "unrecognized error code";
}

inline ResultType GetDeviceCount(int* count) { return ::cuDeviceGetCount(count); }
inline ResultType FindDevice(DeviceHandle* device, int device_id) {
  return ::cuDeviceGet(device, device_id);
}
inline ResultType GetDeviceAttribute(int* value, DeviceAttrType attribute, DeviceHandle device) {
  return ::cuDeviceGetAttribute(value, attribute, device);
}

inline ResultType LoadLibrary(LibraryHandle* library, const void* image) {
  return ::cuLibraryLoadData(library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}
inline ResultType UnloadLibrary(LibraryHandle library) { return ::cuLibraryUnload(library); }
inline ResultType GetKernel(KernelHandle* kernel, LibraryHandle library, const char* name) {
  return ::cuLibraryGetKernel(kernel, library, name);
}

// Stores the static shared memory of a block of the kernel, in bytes.
inline ResultType GetKernelSharedMem(KernelHandle kernel, int& bytes, DeviceHandle device) {
  return ::cuKernelGetAttribute(&bytes, ::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, device);
}
inline ResultType SetKernelMaxDynamicSharedMem(KernelHandle kernel, int bytes,
                                               DeviceHandle device) {
  return ::cuKernelSetAttribute(::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes, kernel,
                                device);
}

inline ResultType LaunchKernel(KernelHandle kernel, void** args, dim3 grid, dim3 block,
                               ::CUstream stream, uint32_t dyn_smem_bytes) {
  return ::cuLaunchKernel(reinterpret_cast<::CUfunction>(kernel), grid.x, grid.y, grid.z, block.x,
                          block.y, block.z, dyn_smem_bytes, stream, args, nullptr);
}
inline ResultType LaunchKernelEx(KernelHandle kernel, void** args, const LaunchConfig& config) {
  return ::cuLaunchKernelEx(&config, reinterpret_cast<::CUfunction>(kernel), args, nullptr);
}

inline void SetExtents(LaunchConfig& config, dim3 grid, dim3 block) {
  config.gridDimX = grid.x;
  config.gridDimY = grid.y;
  config.gridDimZ = grid.z;
  config.blockDimX = block.x;
  config.blockDimY = block.y;
  config.blockDimZ = block.z;
}
inline void SetStream(LaunchConfig& config, ::CUstream stream, uint32_t dyn_smem_bytes) {
  config.hStream = stream;
  config.sharedMemBytes = dyn_smem_bytes;
}
inline void SetCluster(LaunchAttrType& attribute, dim3 cluster) {
  attribute.id = ::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = cluster.x;
  attribute.value.clusterDim.y = cluster.y;
  attribute.value.clusterDim.z = cluster.z;
}

}  // namespace driver_api
}  // namespace cuda_api
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_CUDA_INTERNAL_DRIVER_API_H_
