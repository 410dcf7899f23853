// SPDX-License-Identifier: Apache-2.0
// Launch plans of a CUDA module: functions that check arguments, compute the grid, choose a device
// image and launch a kernel.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PLAN_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PLAN_H_

#include <tvm/ffi/c_api.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/architecture.h"
#include "cuda/devices.h"
#include "cuda/kernel_launch.h"
#include "cuda/launch_call.h"
#include "cuda/launch_program.h"

namespace tvm::ffi::extra::cuda {

// A device image of a CUDA module, the GPU architecture of its code, and its state on each device.
struct ModuleImage {
  ModuleImage(ImageFormat format, std::string architecture, std::string content, size_t num_kernels)
      : format(format),
        architecture_text(std::move(architecture)),
        architecture(ReadArchitecture(architecture_text)),
        on_devices(std::move(content), num_kernels) {}

  ImageFormat format;
  std::string architecture_text;  // GPU architecture of the image's code, such as "sm_90a"
  Architecture architecture;
  ImageOnDevices on_devices;
};

using ModuleImages = std::vector<std::unique_ptr<ModuleImage>>;

// A launch plan (a function that checks arguments and launches a kernel), as a saved module stores
// it.
struct SavedPlan {
  std::string name;
  std::string documentation;
  std::string metadata;
  std::string program;  // launch program of the plan as bytes
};

class LaunchPlan {
 public:
  // The launch variant (one kernel with its images and condition) and the device image that a call
  // uses.
  struct Choice {
    size_t variant;
    int device_id;
    ModuleImage* image;  // the image to load; nullptr if `on_device` is set
    // The loaded image; nullptr before the first launch of the variant on the device.
    ImageOnDevice* on_device;
  };

  // Reads the launch program of the saved plan.  first_kernel: index of the plan's first kernel
  // among all kernels of the module.
  //
  // Fails: ValueError for a corrupt launch program.
  LaunchPlan(SavedPlan saved, size_t num_images, size_t first_kernel);

  const SavedPlan& saved() const { return saved_; }
  const LaunchProgram& program() const { return program_; }
  size_t num_kernels() const { return num_kernels_; }
  bool needs_memory() const { return needs_memory_; }

  void Run(const ModuleImages& images, const TVMFFIAny* args, int32_t num_args,
           TVMFFIAny* result) const;

  // The steps of Run, for launches that are repeated.  Choose evaluates the conditions and computes
  // the launch fields of the chosen variant; Launch writes the kernel arguments and *launch, and
  // launches the kernel.  The arguments of *launch are in the memory of `call`.
  Choice Choose(const ModuleImages& images, const Driver& driver, LaunchCall* call) const;
  void Launch(const Driver& driver, const Choice& choice, const LaunchCall& call,
              KernelLaunch* launch) const;
  // Returns the tensor on whose device the kernel runs; nullptr for the current device.
  const DLTensor* FirstTensorOf(const LaunchCall& call) const {
    return program_.first_tensor != kNone ? call.tensor(program_.first_tensor) : nullptr;
  }

 private:
  void EvaluateConditions(LaunchCall* call) const;
  Choice ChooseVariant(const ModuleImages& images, const Driver& driver, int device_id,
                       const LaunchCall& call) const;
  std::atomic<ImageOnDevice*>* CachedImage(size_t variant, int device_id) const;
  [[noreturn]] void FailNoImage(const Driver& driver, int device_id, const LaunchCall& call) const;
  ImageOnDevice& Load(const Driver& driver, const Choice& choice) const;
  size_t KernelOf(const LaunchVariant& variant, const LaunchCall& call) const;

  SavedPlan saved_;
  LaunchProgram program_;
  // Per launch variant: index of its first kernel among all kernels of the module.
  std::vector<size_t> first_kernels_;
  size_t num_kernels_ = 0;
  bool needs_memory_ = false;    // true if the plan has results, or a launch variant has workspaces
  bool has_conditions_ = false;  // true if a launch variant has a condition
  // The loaded images that earlier calls chose, indexed by launch variant and device.
  std::unique_ptr<std::atomic<ImageOnDevice*>[]> cached_images_;
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PLAN_H_
