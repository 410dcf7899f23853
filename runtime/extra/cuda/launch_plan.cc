// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_plan.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstring>

#include "cuda/arguments.h"
#include "cuda/current_device.h"
#include "cuda/kernel_launch.h"

namespace tvm::ffi::extra::cuda {

// ---- Memory of one call -------------------------------------------------------------------------

// Results and workspaces, which are released when the call fails; workspaces also when it is over.
class LaunchPlan::Memory {
 public:
  Memory(const LaunchProgram& program, const LaunchWay& way, int device_id, LaunchCall* call);

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

LaunchPlan::Memory::Memory(const LaunchProgram& program, const LaunchWay& way, int device_id,
                           LaunchCall* call)
    : device_id_(device_id) {
  for (const LaunchResult& result : program.results) {
    uint32_t place = program.num_arguments + static_cast<uint32_t>(results_.size());
    results_.push_back(AllocateResult(program, result, *call));
    call->set_tensor(place, results_.back().GetDLTensorPtr());
  }
  for (size_t i = 0; i < way.arguments.size(); ++i) {
    if (way.arguments[i].kind != LaunchArgumentKind::kWorkspace) continue;
    call->slots()[i].pointer = AllocateWorkspace(call->value(way.arguments[i].place));
  }
}

Tensor LaunchPlan::Memory::Allocate(const int64_t* shape, int32_t ndim, DLDataType dtype) const {
  return Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, ShapeView(shape, static_cast<size_t>(ndim)),
                              dtype, {kDLCUDA, device_id_});
}

Tensor LaunchPlan::Memory::AllocateResult(const LaunchProgram& program, const LaunchResult& result,
                                          const LaunchCall& call) const {
  std::vector<int64_t> shape;
  for (uint32_t extent : result.extents) shape.push_back(call.value(extent));
  const std::vector<DLDataType>& dtypes = program.dtypes[result.dtypes];
  size_t place = 0;
  if (result.dtype_place != kNone) place = static_cast<size_t>(call.value(result.dtype_place));
  return Allocate(shape.data(), static_cast<int32_t>(shape.size()),
                  dtypes[place < dtypes.size() ? place : 0]);
}

// Aligned as generated wrappers align it.
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

// The image that suits a GPU best, or nullptr.
TVM_FFI_NO_INLINE ModuleImage* BestOf(const LaunchWay& way, const ModuleImages& images,
                                      int capability) {
  ModuleImage* best = nullptr;
  int most = 0;
  for (uint32_t place : way.images) {
    int fit = FitOf(images[place]->format, images[place]->architecture, capability);
    if (fit > most) most = fit, best = images[place].get();
  }
  return best;
}

// What the kernel takes as an argument: where it is.  Tensors and workspaces are their addresses.
TVM_FFI_INLINE void* AddressOfArgument(const LaunchArgument& argument, const LaunchCall& call,
                                       Slot* slot) {
  if (argument.kind == LaunchArgumentKind::kRegister) return call.address_of_value(argument.place);
  if (argument.kind == LaunchArgumentKind::kTensor) {
    const DLTensor* tensor = call.tensor(argument.place);
    slot->integer = tensor == nullptr ? 0 : static_cast<int64_t>(AddressOf(*tensor));
  } else if (argument.kind == LaunchArgumentKind::kFloat32) {
    double number;
    int64_t bits = call.value(argument.place);
    std::memcpy(&number, &bits, sizeof(number));
    slot->float32 = static_cast<float>(number);
  }
  return slot;
}

}  // namespace

// ---- The plan -----------------------------------------------------------------------------------

constexpr int kNumRemembered = 16;  // devices; on others images are chosen in each call

LaunchPlan::LaunchPlan(PlanText text, size_t num_images, size_t first_kernel)
    : text_(std::move(text)), program_(ReadLaunchProgram(text_.program, num_images)) {
  needs_memory_ = !program_.results.empty();
  for (const LaunchWay& way : program_.launches) {
    first_kernels_.push_back(first_kernel + num_kernels_);
    num_kernels_ += way.kernels.size();
    has_conditions_ = has_conditions_ || way.condition != kNone;
    for (const LaunchArgument& argument : way.arguments) {
      needs_memory_ = needs_memory_ || argument.kind == LaunchArgumentKind::kWorkspace;
    }
  }
  remembered_.reset(new std::atomic<ImageOnDevice*>[program_.launches.size() * kNumRemembered]());
}

void LaunchPlan::Run(const ModuleImages& images, const TVMFFIAny* args, int32_t num_args,
                     TVMFFIAny* result) const {
  LaunchCall call(program_, args, num_args);
  if (has_conditions_) FindWaysMeant(&call);
  const Driver& driver = Driver::Get();
  const DLTensor* first = nullptr;
  if (program_.first_tensor != kNone) first = call.tensor(program_.first_tensor);
  int device_id = first != nullptr ? first->device.device_id : CurrentDevice(driver);
  Choice choice = Choose(images, driver, device_id, call);
  const LaunchWay& way = program_.launches[choice.way];
  call.Run(way.numbers);
  if (!needs_memory_) return Launch(driver, device_id, choice, call);
  Memory memory(program_, way, device_id, &call);
  Launch(driver, device_id, choice, call);
  if (!program_.results.empty()) memory.Return(result);
}

void LaunchPlan::FindWaysMeant(LaunchCall* call) const {
  bool is_any_meant = false;
  for (const LaunchWay& way : program_.launches) {
    if (way.condition != kNone) call->Run(way.condition);
    is_any_meant = is_any_meant || way.condition == kNone || call->value(way.is_meant) != 0;
  }
  if (!is_any_meant && program_.no_launch != kNone) call->Fail(program_.no_launch, {});
}

std::atomic<ImageOnDevice*>* LaunchPlan::Remembered(size_t way, int device_id) const {
  if (device_id < 0 || device_id >= kNumRemembered) return nullptr;
  return &remembered_[way * kNumRemembered + static_cast<size_t>(device_id)];
}

// The first launch that is meant for the arguments and has an image for the device.
TVM_FFI_INLINE LaunchPlan::Choice LaunchPlan::Choose(const ModuleImages& images,
                                                     const Driver& driver, int device_id,
                                                     const LaunchCall& call) const {
  for (size_t i = 0; i < program_.launches.size(); ++i) {
    const LaunchWay& way = program_.launches[i];
    if (way.condition != kNone && call.value(way.is_meant) == 0) continue;
    if (const std::atomic<ImageOnDevice*>* remembered = Remembered(i, device_id)) {
      ImageOnDevice* known = remembered->load(std::memory_order_acquire);
      if (TVM_FFI_PREDICT_TRUE(known != nullptr)) return {i, nullptr, known};
    }
    if (ModuleImage* best = BestOf(way, images, CapabilityOf(driver, device_id))) {
      return {i, best, nullptr};
    }
  }
  FailNoImage(driver, device_id, call);
}

void LaunchPlan::FailNoImage(const Driver& driver, int device_id, const LaunchCall& call) const {
  LaunchCall::Holes holes;
  holes.device = std::to_string(device_id);
  holes.gpu = NameOf(driver, device_id);
  holes.architecture = "sm_" + std::to_string(CapabilityOf(driver, device_id));
  call.Fail(program_.no_image, holes);
}

size_t LaunchPlan::KernelOf(const LaunchWay& way, const LaunchCall& call) const {
  uint64_t place = static_cast<uint64_t>(call.value(way.kernel_place));
  if (place >= way.kernels.size()) {
    TVM_FFI_THROW(InternalError) << "launch program: kernel " << place << " of "
                                 << way.kernels.size();
  }
  return static_cast<size_t>(place);
}

// Where a launch's image is on the device, which gets it now if it has not been there.
ImageOnDevice& LaunchPlan::Load(const Driver& driver, int device_id, const Choice& choice) const {
  ImageOnDevice& loaded = choice.image->on_devices.At(driver, device_id);
  if (std::atomic<ImageOnDevice*>* remembered = Remembered(choice.way, device_id)) {
    remembered->store(&loaded, std::memory_order_release);
  }
  return loaded;
}

void LaunchPlan::Launch(const Driver& driver, int device_id, const Choice& choice,
                        const LaunchCall& call) const {
  const LaunchWay& way = program_.launches[choice.way];
  void** addresses = call.addresses();
  for (size_t i = 0; i < way.arguments.size(); ++i) {
    addresses[i] = AddressOfArgument(way.arguments[i], call, &call.slots()[i]);
  }
  KernelLaunch launch;
  for (size_t i = 0; i < kNumLaunchFields; ++i) {
    launch.fields[i] = static_cast<uint32_t>(call.value(way.fields[i]));
  }
  launch.has_cluster = (way.flags & 1) != 0;
  launch.is_cooperative = (way.flags & 2) != 0;
  launch.is_programmatic = (way.flags & 4) != 0;
  launch.arguments = addresses;
  size_t kernel = way.kernel_place == kNone ? 0 : KernelOf(way, call);
  const std::string& symbol = way.kernels[kernel];
  size_t index = first_kernels_[choice.way] + kernel;
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
