// SPDX-License-Identifier: Apache-2.0
// Launch plans of a module: functions whose checks and numbers are a program, over images for
// several architectures.
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
#include "cuda/launch_call.h"
#include "cuda/launch_program.h"

namespace tvm::ffi::extra::cuda {

// One image of a module, with what has become of it on devices.
struct ModuleImage {
  ModuleImage(ImageFormat format, std::string architecture, std::string content, size_t num_kernels)
      : format(format),
        architecture_text(std::move(architecture)),
        architecture(ReadArchitecture(architecture_text)),
        on_devices(std::move(content), num_kernels) {}

  ImageFormat format;
  std::string architecture_text;
  Architecture architecture;
  ImageOnDevices on_devices;
};

using ModuleImages = std::vector<std::unique_ptr<ModuleImage>>;

// What tells everything of a plan.
struct PlanText {
  std::string name;
  std::string documentation;
  std::string metadata;
  std::string program;
};

class LaunchPlan {
 public:
  // The kernels are numbered from `first_kernel` in the images of the module.
  //
  // Fails: ValueError when the program cannot be read.
  LaunchPlan(PlanText text, size_t num_images, size_t first_kernel);

  const PlanText& text() const { return text_; }
  size_t num_kernels() const { return num_kernels_; }
  void Run(const ModuleImages& images, const TVMFFIAny* args, int32_t num_args,
           TVMFFIAny* result) const;

 private:
  struct Choice {
    size_t way;
    ModuleImage* image;
    ImageOnDevice* on_device;  // nullptr when the image has not been there for this launch
  };
  class Memory;

  void FindWaysMeant(LaunchCall* call) const;
  Choice Choose(const ModuleImages& images, const Driver& driver, int device_id,
                const LaunchCall& call) const;
  std::atomic<ImageOnDevice*>* Remembered(size_t way, int device_id) const;
  [[noreturn]] void FailNoImage(const Driver& driver, int device_id, const LaunchCall& call) const;
  ImageOnDevice& Load(const Driver& driver, int device_id, const Choice& choice) const;
  void Launch(const Driver& driver, int device_id, const Choice& choice,
              const LaunchCall& call) const;
  size_t KernelOf(const LaunchWay& way, const LaunchCall& call) const;

  PlanText text_;
  LaunchProgram program_;
  std::vector<size_t> first_kernels_;  // of each launch
  size_t num_kernels_ = 0;
  bool needs_memory_ = false, has_conditions_ = false;
  // Images that launches have run from, by launch and device, so that they are chosen once.
  std::unique_ptr<std::atomic<ImageOnDevice*>[]> remembered_;
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_PLAN_H_
