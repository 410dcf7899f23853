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

  // Where the workspace is that is the `i`-th argument.
  void* workspace(size_t i) const { return workspaces_[i]; }
  void Return(TVMFFIAny* result) const;

 private:
  Tensor Allocate(const int64_t* shape, int32_t ndim, DLDataType dtype) const;
  Tensor AllocateResult(const LaunchProgram& program, const LaunchResult& result,
                        const LaunchCall& call) const;
  void* AllocateWorkspace(int64_t bytes);

  int device_id_;
  std::vector<Tensor> results_;
  std::vector<Tensor> workspace_tensors_;
  std::vector<void*> workspaces_;
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
    workspaces_.resize(way.arguments.size());
    workspaces_[i] = AllocateWorkspace(call->value(way.arguments[i].place));
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

// ---- The plan -----------------------------------------------------------------------------------

LaunchPlan::LaunchPlan(PlanText text, size_t num_images, size_t first_kernel)
    : text_(std::move(text)), program_(ReadLaunchProgram(text_.program, num_images)) {
  for (const LaunchWay& way : program_.launches) {
    first_kernels_.push_back(first_kernel + num_kernels_);
    num_kernels_ += way.kernels.size();
  }
}

void LaunchPlan::Run(const ModuleImages& images, const TVMFFIAny* args, int32_t num_args,
                     TVMFFIAny* result) const {
  LaunchCall call(program_, args, num_args);
  bool is_any_meant = false;
  for (const LaunchWay& way : program_.launches) {
    if (way.condition != kNone) call.Run(way.condition);
    is_any_meant = is_any_meant || way.condition == kNone || call.value(way.is_meant) != 0;
  }
  if (!is_any_meant && program_.no_launch != kNone) call.Fail(program_.no_launch, {});
  const Driver& driver = Driver::Get();
  const DLTensor* first = nullptr;
  if (program_.first_tensor != kNone) first = call.tensor(program_.first_tensor);
  int device_id = first != nullptr ? first->device.device_id : CurrentDevice(driver);
  Choice choice = Choose(images, driver, device_id, &call);
  const LaunchWay& way = program_.launches[choice.way];
  call.Run(way.numbers);
  Memory memory(program_, way, device_id, &call);
  Launch(driver, device_id, choice, &call, memory);
  if (!program_.results.empty()) memory.Return(result);
}

// The first launch that is meant for the arguments and has an image for the device.
LaunchPlan::Choice LaunchPlan::Choose(const ModuleImages& images, const Driver& driver,
                                      int device_id, LaunchCall* call) const {
  int capability = CapabilityOf(driver, device_id);
  for (size_t i = 0; i < program_.launches.size(); ++i) {
    const LaunchWay& way = program_.launches[i];
    if (way.condition != kNone && call->value(way.is_meant) == 0) continue;
    ModuleImage* best = nullptr;
    int most = 0;
    for (uint32_t place : way.images) {
      int fit = FitOf(images[place]->format, images[place]->architecture, capability);
      if (fit > most) most = fit, best = images[place].get();
    }
    if (best != nullptr) return {i, best};
  }
  LaunchCall::Holes holes;
  holes.device = std::to_string(device_id);
  holes.gpu = NameOf(driver, device_id);
  holes.architecture = "sm_" + std::to_string(capability);
  call->Fail(program_.no_image, holes);
}

size_t LaunchPlan::KernelOf(const LaunchWay& way, const LaunchCall& call) const {
  if (way.kernel_place == kNone) return 0;
  uint64_t place = static_cast<uint64_t>(call.value(way.kernel_place));
  if (place >= way.kernels.size()) {
    TVM_FFI_THROW(InternalError) << "launch program: kernel " << place << " of "
                                 << way.kernels.size();
  }
  return static_cast<size_t>(place);
}

void LaunchPlan::Launch(const Driver& driver, int device_id, const Choice& choice, LaunchCall* call,
                        const Memory& memory) const {
  const LaunchWay& way = program_.launches[choice.way];
  constexpr size_t kInline = 32;
  size_t count = way.arguments.size();
  Slot inline_slots[kInline];
  void* inline_addresses[kInline];
  std::vector<Slot> more_slots(count > kInline ? count : 0);
  std::vector<void*> more_addresses(count > kInline ? count : 0);
  Slot* slots = count > kInline ? more_slots.data() : inline_slots;
  void** addresses = count > kInline ? more_addresses.data() : inline_addresses;
  for (size_t i = 0; i < count; ++i) {
    const LaunchArgument& argument = way.arguments[i];
    addresses[i] = &slots[i];
    slots[i].integer = 0;
    if (argument.kind == LaunchArgumentKind::kTensor) {
      const DLTensor* tensor = call->tensor(argument.place);
      if (tensor != nullptr) {
        slots[i].pointer = static_cast<char*>(tensor->data) + tensor->byte_offset;
      }
    } else if (argument.kind == LaunchArgumentKind::kWorkspace) {
      slots[i].pointer = memory.workspace(i);
    } else if (argument.kind == LaunchArgumentKind::kFloat32) {
      double number;
      int64_t bits = call->value(argument.place);
      std::memcpy(&number, &bits, sizeof(number));
      slots[i].float32 = static_cast<float>(number);
    } else {
      slots[i].integer = call->value(argument.place);
    }
  }
  KernelLaunch launch;
  for (size_t i = 0; i < kNumLaunchFields; ++i) {
    launch.fields[i] = static_cast<uint32_t>(call->value(way.fields[i]));
  }
  launch.has_cluster = (way.flags & 1) != 0;
  launch.is_cooperative = (way.flags & 2) != 0;
  launch.is_programmatic = (way.flags & 4) != 0;
  launch.arguments = addresses;
  size_t kernel = KernelOf(way, *call);
  const std::string& symbol = way.kernels[kernel];
  size_t index = first_kernels_[choice.way] + kernel;
  ImageOnDevice& device = choice.image->on_devices.At(driver, device_id);
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
