// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_plan.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstring>

#include "checks/tensor_properties.h"
#include "cuda/arguments.h"
#include "cuda/current_device.h"
#include "cuda/kernel_launch.h"

namespace tvm::ffi::extra::cuda {

// ---- Results and workspaces of one call ---------------------------------------------------------

// Memory that a call allocates: result tensors and workspaces.  The destructor frees the
// workspaces.  If the call failed, the destructor also frees the result tensors.
class LaunchPlan::Memory {
 public:
  Memory(const LaunchProgram& program, const LaunchVariant& variant, int device_id,
         LaunchCall* call);

  void Return(TVMFFIAny* result) const;

 private:
  Tensor Allocate(const int64_t* shape, int32_t ndim, DLDataType dtype) const;
  Tensor AllocateResult(const LaunchProgram& program, const LaunchResult& result,
                        const LaunchCall& call) const;
  void* AllocateWorkspace(int64_t bytes);

  int device_id_;
  std::vector<Tensor> results_;
  std::vector<Tensor> workspace_tensors_;
};

LaunchPlan::Memory::Memory(const LaunchProgram& program, const LaunchVariant& variant,
                           int device_id, LaunchCall* call)
    : device_id_(device_id) {
  for (const LaunchResult& result : program.results) {
    uint32_t index = program.checks.num_parameters + static_cast<uint32_t>(results_.size());
    results_.push_back(AllocateResult(program, result, *call));
    call->set_tensor(index, results_.back().GetDLTensorPtr());
  }
  for (size_t i = 0; i < variant.arguments.size(); ++i) {
    if (variant.arguments[i].kind != LaunchArgumentKind::kWorkspace) continue;
    call->slots()[i].pointer = AllocateWorkspace(call->value(variant.arguments[i].index));
  }
}

Tensor LaunchPlan::Memory::Allocate(const int64_t* shape, int32_t ndim, DLDataType dtype) const {
  return Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, ShapeView(shape, static_cast<size_t>(ndim)),
                              dtype, {kDLCUDA, device_id_});
}

Tensor LaunchPlan::Memory::AllocateResult(const LaunchProgram& program, const LaunchResult& result,
                                          const LaunchCall& call) const {
  std::vector<int64_t> shape;
  for (uint32_t extent : result.extent_registers) {
    if (extent != kNone) {
      shape.push_back(call.value(extent));
      continue;
    }
    ShapeView extents = call.ExtentsIn(result.gap, call.tensor(result.gap_tensor));
    shape.insert(shape.end(), extents.begin(), extents.end());
  }
  const std::vector<DLDataType>& dtypes = program.checks.dtype_sets[result.dtype_set];
  size_t index = 0;
  if (result.dtype_register != kNone)
    index = static_cast<size_t>(call.value(result.dtype_register));
  return Allocate(shape.data(), static_cast<int32_t>(shape.size()),
                  dtypes[index < dtypes.size() ? index : 0]);
}

// Returns workspace memory with the same alignment as in generated wrappers; nullptr for 0 bytes.
void* LaunchPlan::Memory::AllocateWorkspace(int64_t bytes) {
  constexpr int64_t kAlignment = 256;
  if (bytes == 0) return nullptr;
  if (bytes <= INT64_MAX - kAlignment) bytes += kAlignment - 1;
  workspace_tensors_.push_back(Allocate(&bytes, 1, {kDLUInt, 8, 1}));
  const DLTensor* tensor = workspace_tensors_.back().GetDLTensorPtr();
  auto first = reinterpret_cast<uintptr_t>(tensor->data) + tensor->byte_offset + kAlignment - 1;
  return reinterpret_cast<void*>(first - first % kAlignment);
}

void LaunchPlan::Memory::Return(TVMFFIAny* result) const {
  Any value;
  if (results_.size() == 1) value = results_[0];
  if (results_.size() > 1) value = Array<Any>(results_.begin(), results_.end());
  *result = ffi::detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(value));
}

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
  if (has_conditions_) EvaluateConditions(&call);
  const Driver& driver = Driver::Get();
  const DLTensor* first = nullptr;
  if (program_.first_tensor != kNone) first = call.tensor(program_.first_tensor);
  int device_id = first != nullptr ? first->device.device_id : CurrentDevice(driver);
  Choice choice = Choose(images, driver, device_id, call);
  const LaunchVariant& variant = program_.variants[choice.variant];
  call.Execute(variant.fields_start);
  if (!needs_memory_) return Launch(driver, device_id, choice, call);
  Memory memory(program_, variant, device_id, &call);
  Launch(driver, device_id, choice, call);
  if (!program_.results.empty()) memory.Return(result);
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
TVM_FFI_INLINE LaunchPlan::Choice LaunchPlan::Choose(const ModuleImages& images,
                                                     const Driver& driver, int device_id,
                                                     const LaunchCall& call) const {
  for (size_t i = 0; i < program_.variants.size(); ++i) {
    const LaunchVariant& variant = program_.variants[i];
    if (variant.condition != kNone && call.value(variant.condition_result) == 0) continue;
    if (const std::atomic<ImageOnDevice*>* cached = CachedImage(i, device_id)) {
      ImageOnDevice* known = cached->load(std::memory_order_acquire);
      if (TVM_FFI_PREDICT_TRUE(known != nullptr)) return {i, nullptr, known};
    }
    if (ModuleImage* best = BestOf(variant, images, CapabilityOf(driver, device_id))) {
      return {i, best, nullptr};
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
ImageOnDevice& LaunchPlan::Load(const Driver& driver, int device_id, const Choice& choice) const {
  ImageOnDevice& loaded = choice.image->on_devices.At(driver, device_id);
  if (std::atomic<ImageOnDevice*>* cached = CachedImage(choice.variant, device_id)) {
    cached->store(&loaded, std::memory_order_release);
  }
  return loaded;
}

void LaunchPlan::Launch(const Driver& driver, int device_id, const Choice& choice,
                        const LaunchCall& call) const {
  const LaunchVariant& variant = program_.variants[choice.variant];
  void** addresses = call.addresses();
  for (size_t i = 0; i < variant.arguments.size(); ++i) {
    addresses[i] = AddressOfArgument(variant.arguments[i], call, &call.slots()[i]);
  }
  KernelLaunch launch;
  for (size_t i = 0; i < kNumLaunchFields; ++i) {
    launch.fields[i] = static_cast<uint32_t>(call.value(variant.field_registers[i]));
  }
  launch.has_cluster = (variant.flags & 1) != 0;
  launch.is_cooperative = (variant.flags & 2) != 0;
  launch.is_programmatic = (variant.flags & 4) != 0;
  launch.arguments = addresses;
  size_t kernel = variant.kernel_register == kNone ? 0 : KernelOf(variant, call);
  const std::string& symbol = variant.kernels[kernel];
  size_t index = first_kernels_[choice.variant] + kernel;
  ImageOnDevice& device =
      choice.on_device != nullptr ? *choice.on_device : Load(driver, device_id, choice);
  ContextScope scope(driver, device.context());
  Kernel handle = device.Find(index, symbol);
  device.GrantSharedMemory(index, launch.fields[kSharedMemory], symbol);
  if (launch.has_cluster) {
    const LaunchValues& fields = launch.fields;
    device.GrantCluster(index, fields[kCluster] * fields[kCluster + 1] * fields[kCluster + 2],
                        symbol);
  }
  LaunchKernel(driver, handle, symbol, device_id, launch);
  scope.Restore();
}

}  // namespace tvm::ffi::extra::cuda
