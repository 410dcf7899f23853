// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_plan.h"

#include <tvm/ffi/error.h>

#include <cstring>

#include "checks/tensor_properties.h"
#include "cuda/arguments.h"
#include "cuda/current_device.h"
#include "cuda/launch_memory.h"

namespace tvm::ffi::extra::cuda {

namespace {

// Returns the image with the best rank for a device, or nullptr if no image can run on the device.
TVM_FFI_NO_INLINE ModuleImage* BestOf(const LaunchVariant& variant, const ModuleImages& images,
                                      int capability) {
  ModuleImage* best = nullptr;
  int best_fit = 0;
  for (uint32_t index : variant.images) {
    int fit = ImageFit(images[index]->format, images[index]->architecture, capability);
    if (fit > best_fit) best_fit = fit, best = images[index].get();
  }
  return best;
}

// Returns the address of a kernel argument.  If the argument is a tensor or workspace, this is the
// address of a variable that contains the data pointer.
TVM_FFI_INLINE void* AddressOfArgument(const LaunchArgument& argument, const LaunchCall& call,
                                       Slot* slot) {
  if (argument.kind == LaunchArgumentKind::kRegister) return call.address_of_value(argument.index);
  if (argument.kind == LaunchArgumentKind::kTensor) {
    const DLTensor* tensor = call.tensor(argument.index);
    slot->integer = tensor == nullptr ? 0 : static_cast<int64_t>(checks::AddressOf(*tensor));
  } else if (argument.kind == LaunchArgumentKind::kFloat32) {
    double number;
    int64_t bits = call.value(argument.index);
    std::memcpy(&number, &bits, sizeof(number));
    slot->float32 = static_cast<float>(number);
  }
  return slot;
}

}  // namespace

// ---- Launch plan --------------------------------------------------------------------------------

// Number of devices for which the chosen image is cached.  A call on a device with this id or a
// larger id chooses the image again.
constexpr int kNumCachedDevices = 16;

LaunchPlan::LaunchPlan(SavedPlan saved, size_t num_images, size_t first_kernel)
    : saved_(std::move(saved)), program_(ReadLaunchProgram(saved_.program, num_images)) {
  needs_memory_ = !program_.results.empty();
  for (const LaunchVariant& variant : program_.variants) {
    first_kernels_.push_back(first_kernel + num_kernels_);
    num_kernels_ += variant.kernels.size();
    has_conditions_ = has_conditions_ || variant.condition != kNone;
    for (const LaunchArgument& argument : variant.arguments) {
      needs_memory_ = needs_memory_ || argument.kind == LaunchArgumentKind::kWorkspace;
    }
  }
  cached_images_.reset(
      new std::atomic<ImageOnDevice*>[program_.variants.size() * kNumCachedDevices]());
}

void LaunchPlan::Run(const ModuleImages& images, const TVMFFIAny* args, int32_t num_args,
                     TVMFFIAny* result) const {
  LaunchCall call(program_, args, num_args);
  const Driver& driver = Driver::Get();
  Choice choice = Choose(images, driver, &call);
  KernelLaunch launch;
  if (!needs_memory_) return Launch(driver, choice, call, &launch);
  std::vector<Tensor> results = AllocateResults(program_, choice.device_id, &call);
  Workspaces workspaces(program_.variants[choice.variant], choice.device_id, call);
  Launch(driver, choice, call, &launch);
  ReturnResults(results, result);
}

// Evaluates the conditions, chooses a launch variant and computes its launch fields.
LaunchPlan::Choice LaunchPlan::Choose(const ModuleImages& images, const Driver& driver,
                                      LaunchCall* call) const {
  if (has_conditions_) EvaluateConditions(call);
  const DLTensor* first = FirstTensorOf(*call);
  int device_id = first != nullptr ? first->device.device_id : CurrentDevice(driver);
  Choice choice = ChooseVariant(images, driver, device_id, *call);
  call->Execute(program_.variants[choice.variant].fields_start);
  return choice;
}

void LaunchPlan::EvaluateConditions(LaunchCall* call) const {
  bool is_any_selected = false;
  for (const LaunchVariant& variant : program_.variants) {
    if (variant.condition != kNone) call->Execute(variant.condition);
    is_any_selected =
        is_any_selected || variant.condition == kNone || call->value(variant.condition_result) != 0;
  }
  if (!is_any_selected && program_.no_variant_failure != kNone)
    call->Fail(program_.no_variant_failure, {});
}

std::atomic<ImageOnDevice*>* LaunchPlan::CachedImage(size_t variant, int device_id) const {
  if (device_id < 0 || device_id >= kNumCachedDevices) return nullptr;
  return &cached_images_[variant * kNumCachedDevices + static_cast<size_t>(device_id)];
}

// Returns the first launch variant whose condition holds and that has an image for the device.
TVM_FFI_INLINE LaunchPlan::Choice LaunchPlan::ChooseVariant(const ModuleImages& images,
                                                            const Driver& driver, int device_id,
                                                            const LaunchCall& call) const {
  for (size_t i = 0; i < program_.variants.size(); ++i) {
    const LaunchVariant& variant = program_.variants[i];
    if (variant.condition != kNone && call.value(variant.condition_result) == 0) continue;
    if (const std::atomic<ImageOnDevice*>* cached = CachedImage(i, device_id)) {
      ImageOnDevice* known = cached->load(std::memory_order_acquire);
      if (TVM_FFI_PREDICT_TRUE(known != nullptr)) return {i, device_id, nullptr, known};
    }
    if (ModuleImage* best = BestOf(variant, images, CapabilityOf(driver, device_id))) {
      return {i, device_id, best, nullptr};
    }
  }
  FailNoImage(driver, device_id, call);
}

void LaunchPlan::FailNoImage(const Driver& driver, int device_id, const LaunchCall& call) const {
  checks::MessageValues values;
  values.device = std::to_string(device_id);
  values.gpu = NameOf(driver, device_id);
  values.architecture = "sm_" + std::to_string(CapabilityOf(driver, device_id));
  call.Fail(program_.no_image_failure, values);
}

size_t LaunchPlan::KernelOf(const LaunchVariant& variant, const LaunchCall& call) const {
  auto index = static_cast<uint64_t>(call.value(variant.kernel_register));
  if (index >= variant.kernels.size()) {
    TVM_FFI_THROW(InternalError) << "launch program: kernel index " << index
                                 << " out of range, the variant has " << variant.kernels.size()
                                 << " kernels";
  }
  return static_cast<size_t>(index);
}

// Returns the chosen image as it is loaded on the device.  Loads the image if necessary.
ImageOnDevice& LaunchPlan::Load(const Driver& driver, const Choice& choice) const {
  ImageOnDevice& loaded = choice.image->on_devices.At(driver, choice.device_id);
  if (std::atomic<ImageOnDevice*>* cached = CachedImage(choice.variant, choice.device_id)) {
    cached->store(&loaded, std::memory_order_release);
  }
  return loaded;
}

void LaunchPlan::Launch(const Driver& driver, const Choice& choice, const LaunchCall& call,
                        KernelLaunch* launch) const {
  const LaunchVariant& variant = program_.variants[choice.variant];
  void** addresses = call.addresses();
  for (size_t i = 0; i < variant.arguments.size(); ++i) {
    addresses[i] = AddressOfArgument(variant.arguments[i], call, &call.slots()[i]);
  }
  LaunchValues& fields = launch->fields;
  for (size_t i = 0; i < kNumLaunchFields; ++i) {
    fields[i] = static_cast<uint32_t>(call.value(variant.field_registers[i]));
  }
  launch->has_cluster = (variant.flags & 1) != 0;
  launch->is_cooperative = (variant.flags & 2) != 0;
  launch->is_programmatic = (variant.flags & 4) != 0;
  launch->arguments = addresses;
  launch->device_id = choice.device_id;
  size_t kernel = variant.kernel_register == kNone ? 0 : KernelOf(variant, call);
  const std::string& symbol = variant.kernels[kernel];
  launch->symbol = &symbol;
  size_t index = first_kernels_[choice.variant] + kernel;
  ImageOnDevice& device = choice.on_device != nullptr ? *choice.on_device : Load(driver, choice);
  launch->context = device.context();
  ContextScope scope(driver, device.context());
  launch->needs_context = scope.is_changed();
  launch->kernel = device.Find(index, symbol);
  device.GrantSharedMemory(index, fields[kSharedMemory], symbol);
  if (launch->has_cluster) {
    device.GrantCluster(index, fields[kCluster] * fields[kCluster + 1] * fields[kCluster + 2],
                        symbol);
  }
  LaunchKernel(driver, *launch);
  scope.Restore();
}

}  // namespace tvm::ffi::extra::cuda
