// SPDX-License-Identifier: Apache-2.0
// The runtime's declarations of the CUDA driver, compared with the toolkit's header.
#include <cuda.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <type_traits>

#include "../../runtime/extra/cuda/driver.h"

namespace ours = tvm::ffi::extra::cuda;

static_assert(ours::kInvalidContext == CUDA_ERROR_INVALID_CONTEXT, "");
static_assert(ours::kInvalidHandle == CUDA_ERROR_INVALID_HANDLE, "");
static_assert(ours::kJitErrorLogBuffer == CU_JIT_ERROR_LOG_BUFFER, "");
static_assert(ours::kJitErrorLogBufferSizeBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, "");
static_assert(ours::kMaxDynamicSharedSizeBytes == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              "");
static_assert(ours::kNonPortableClusterSizeAllowed ==
                  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
              "");
static_assert(ours::kComputeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, "");
static_assert(ours::kComputeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, "");
static_assert(ours::kMaxSharedMemoryPerBlockOptin ==
                  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
              "");
static_assert(ours::kCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE, "");
static_assert(ours::kProgrammaticStreamSerialization ==
                  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
              "");
static_assert(ours::kClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, "");
static_assert(ours::kCaptureModeRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED, "");

static_assert(sizeof(ours::LaunchAttribute) == sizeof(CUlaunchAttribute), "");
static_assert(offsetof(ours::LaunchAttribute, value) == offsetof(CUlaunchAttribute, value), "");
static_assert(sizeof(ours::LaunchConfig) == sizeof(CUlaunchConfig), "");
#define SAME_OFFSET(mine, theirs) \
  static_assert(offsetof(ours::LaunchConfig, mine) == offsetof(CUlaunchConfig, theirs), #mine)
SAME_OFFSET(grid, gridDimX);
SAME_OFFSET(block, blockDimX);
SAME_OFFSET(shared_memory_bytes, sharedMemBytes);
SAME_OFFSET(stream, hStream);
SAME_OFFSET(attributes, attrs);
SAME_OFFSET(num_attributes, numAttrs);
static_assert(sizeof(CUdevice) == sizeof(ours::Device) && sizeof(CUresult) == sizeof(ours::Result),
              "");

TEST_CASE("functions have the same number and sizes of parameters") {
  // The pointers to handles of our declarations and of cuda.h differ only in type, so the test
  // compares the number of parameters and their value types.
  CHECK((std::is_same_v<decltype(&cuInit), CUresult (*)(unsigned)>));
  CHECK((std::is_same_v<decltype(&cuDeviceGetName), CUresult (*)(char*, int, CUdevice)>));
  CHECK((std::is_same_v<decltype(&cuDeviceGetAttribute),
                        CUresult (*)(int*, CUdevice_attribute, CUdevice)>));
  CHECK((std::is_same_v<decltype(&cuCtxGetDevice), CUresult (*)(CUdevice*)>));
  CHECK((std::is_same_v<decltype(&cuModuleLoadDataEx),
                        CUresult (*)(CUmodule*, const void*, unsigned, CUjit_option*, void**)>));
  CHECK((std::is_same_v<decltype(&cuFuncSetAttribute),
                        CUresult (*)(CUfunction, CUfunction_attribute, int)>));
  CHECK((std::is_same_v<decltype(&cuLaunchKernel),
                        CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, unsigned, CUstream, void**, void**)>));
  CHECK((std::is_same_v<decltype(&cuLaunchKernelEx),
                        CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**)>));
  CHECK((std::is_same_v<decltype(&cuThreadExchangeStreamCaptureMode),
                        CUresult (*)(CUstreamCaptureMode*)>));
}
