/* SPDX-License-Identifier: Apache-2.0
 * Stand-in for the CUDA runtime API: the declarations that our headers and their tests use.
 *
 * Names, numbers and layouts equal the real <cuda_runtime.h>.  If CUDART_VERSION is defined as
 * less than 12080, declarations that toolkits before 12.8 lack are hidden. */
#ifndef TVM_FFI_TESTS_FAKE_CUDA_CUDA_RUNTIME_H_
#define TVM_FFI_TESTS_FAKE_CUDA_CUDA_RUNTIME_H_

#include <stddef.h>

#ifndef CUDART_VERSION
#define CUDART_VERSION 13000
#endif

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
      : x(vx), y(vy), z(vz) {}
};

extern "C" {

typedef struct CUstream_st* cudaStream_t;

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorCudartUnloading = 4,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidKernelImage = 200,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorSymbolNotFound = 500,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorApiFailureBase = 10000,
} cudaError_t;

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);

#if CUDART_VERSION >= 12080

typedef struct CUlib_st* cudaLibrary_t;
typedef struct CUkern_st* cudaKernel_t;

typedef enum cudaDeviceAttr { cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 } cudaDeviceAttr;
typedef enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8
} cudaFuncAttribute;

// Kernels use only the first field; the struct has the size of the largest toolkit version.
struct cudaFuncAttributes {
  size_t sharedSizeBytes;
  char rest[248];
};

typedef enum cudaJitOption { cudaJitMaxRegisters = 0 } cudaJitOption;
typedef enum cudaLibraryOption { cudaLibraryBinaryIsPreserved = 1 } cudaLibraryOption;

typedef enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeClusterDimension = 4
} cudaLaunchAttributeID;

typedef union cudaLaunchAttributeValue {
  char pad[64];
  struct {
    unsigned int x;
    unsigned int y;
    unsigned int z;
  } clusterDim;
} cudaLaunchAttributeValue;

typedef struct cudaLaunchAttribute_st {
  cudaLaunchAttributeID id;
  char pad[8 - sizeof(cudaLaunchAttributeID)];
  cudaLaunchAttributeValue val;
} cudaLaunchAttribute;

typedef struct cudaLaunchConfig_st {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
} cudaLaunchConfig_t;

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* image,
                                cudaJitOption* jit_options, void** jit_option_values,
                                unsigned int num_jit_options, cudaLibraryOption* options,
                                void** option_values, unsigned int num_options);
cudaError_t cudaLibraryUnload(cudaLibrary_t library);
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute,
                                            int value, int device);
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                             size_t shared_mem_bytes, cudaStream_t stream);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** args);

#endif  // CUDART_VERSION >= 12080

}  // extern "C"
#endif  // TVM_FFI_TESTS_FAKE_CUDA_CUDA_RUNTIME_H_
