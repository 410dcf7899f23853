// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel_launch.h"

#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>

namespace tvm::ffi::extra::cuda {
namespace {

LaunchConfig ConfigOf(const KernelLaunch& launch, Stream stream) {
  auto extents = [&](size_t first) {
    return Dim3{launch.fields[first], launch.fields[first + 1], launch.fields[first + 2]};
  };
  return {extents(kGrid), extents(kBlock), launch.fields[kSharedMemory], stream, nullptr, 0};
}

std::string Show(const Dim3& extents) {
  return "(" + std::to_string(extents.x) + ", " + std::to_string(extents.y) + ", " +
         std::to_string(extents.z) + ")";
}

bool HasAttributes(const KernelLaunch& launch) {
  return launch.has_cluster || launch.is_cooperative || launch.is_programmatic;
}

[[noreturn]] TVM_FFI_COLD_CODE void Throw(const Driver& driver, Result status,
                                          const KernelLaunch& launch) {
  LaunchConfig config = ConfigOf(launch, nullptr);
  driver.Throw(HasAttributes(launch) ? "cuLaunchKernelEx" : "cuLaunchKernel", status,
               " for kernel `" + *launch.symbol + "` on cuda:" + std::to_string(launch.device_id) +
                   " with grid " + Show(config.grid) + ", block " + Show(config.block) + ", " +
                   std::to_string(config.shared_memory_bytes) + " bytes of dynamic shared memory");
}

// Launches a kernel with clusters or launch attributes.  Separate from the function for simple
// launches, because initialising the attributes would slow down every launch.
TVM_FFI_NO_INLINE Result StartWithAttributes(const Driver& driver, const KernelLaunch& launch,
                                             Stream stream) {
  LaunchAttribute attributes[3] = {};
  LaunchConfig config = ConfigOf(launch, stream);
  config.attributes = attributes;
  if (driver.launch_kernel_ex == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "CUDA driver: it is too old for clusters and attributes, which "
                                << "kernel `" << *launch.symbol << "` needs";
  }
  if (launch.has_cluster) {
    LaunchAttribute& attribute = attributes[config.num_attributes++];
    attribute.id = kClusterDimension;
    attribute.value.cluster = {launch.fields[kCluster], launch.fields[kCluster + 1],
                               launch.fields[kCluster + 2]};
  }
  if (launch.is_cooperative) {
    attributes[config.num_attributes].id = kCooperative;
    attributes[config.num_attributes++].value.flag = 1;
  }
  if (launch.is_programmatic) {
    attributes[config.num_attributes].id = kProgrammaticStreamSerialization;
    attributes[config.num_attributes++].value.flag = 1;
  }
  return driver.launch_kernel_ex(&config, launch.kernel, launch.arguments, nullptr);
}

TVM_FFI_INLINE Result Start(const Driver& driver, const KernelLaunch& launch) {
  auto stream = static_cast<Stream>(TVMFFIEnvGetStream(kDLCUDA, launch.device_id));
  if (HasAttributes(launch)) return StartWithAttributes(driver, launch, stream);
  const LaunchValues& at = launch.fields;
  return driver.launch_kernel(launch.kernel, at[kGrid], at[kGrid + 1], at[kGrid + 2], at[kBlock],
                              at[kBlock + 1], at[kBlock + 2], at[kSharedMemory], stream,
                              launch.arguments, nullptr);
}

TVM_FFI_COLD_CODE void LaunchInContext(const Driver& driver, KernelLaunch* launch) {
  ContextScope scope(driver, launch->context);
  launch->needs_context = scope.is_changed();
  LaunchKernel(driver, *launch);
  scope.Restore();
}

}  // namespace

void LaunchKernel(const Driver& driver, const KernelLaunch& launch) {
  Result status = Start(driver, launch);
  if (TVM_FFI_PREDICT_TRUE(status == 0)) return;
  Throw(driver, status, launch);
}

void LaunchKernelAgain(const Driver& driver, KernelLaunch* launch) {
  if (TVM_FFI_PREDICT_FALSE(launch->needs_context)) return LaunchInContext(driver, launch);
  Result status = Start(driver, *launch);
  if (TVM_FFI_PREDICT_TRUE(status == 0)) return;
  if (status == kInvalidContext || status == kInvalidHandle) return LaunchInContext(driver, launch);
  Throw(driver, status, *launch);
}

}  // namespace tvm::ffi::extra::cuda
