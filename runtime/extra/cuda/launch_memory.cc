// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_memory.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/c_env_api.h>

namespace tvm::ffi::extra::cuda {
namespace {

Tensor Allocate(const int64_t* shape, int32_t ndim, DLDataType dtype, int device_id) {
  return Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, ShapeView(shape, static_cast<size_t>(ndim)),
                              dtype, {kDLCUDA, device_id});
}

Tensor AllocateResult(const LaunchProgram& program, const LaunchResult& result, int device_id,
                      const LaunchCall& call) {
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
                  dtypes[index < dtypes.size() ? index : 0], device_id);
}

}  // namespace

std::vector<Tensor> AllocateResults(const LaunchProgram& program, int device_id, LaunchCall* call) {
  std::vector<Tensor> results;
  for (const LaunchResult& result : program.results) {
    uint32_t index = program.checks.num_parameters + static_cast<uint32_t>(results.size());
    results.push_back(AllocateResult(program, result, device_id, *call));
    call->set_tensor(index, results.back().GetDLTensorPtr());
  }
  return results;
}

void ReturnResults(const std::vector<Tensor>& results, TVMFFIAny* result) {
  if (results.empty()) return;
  Any value;
  if (results.size() == 1) value = results[0];
  if (results.size() > 1) value = Array<Any>(results.begin(), results.end());
  *result = ffi::detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(value));
}

Workspaces::Workspaces(const LaunchVariant& variant, int device_id, const LaunchCall& call) {
  for (size_t i = 0; i < variant.arguments.size(); ++i) {
    const LaunchArgument& argument = variant.arguments[i];
    if (argument.kind != LaunchArgumentKind::kWorkspace) continue;
    call.slots()[i].pointer = Allocate(call.value(argument.index), device_id);
  }
}

// Returns workspace memory with the same alignment as in generated wrappers; nullptr for 0 bytes.
void* Workspaces::Allocate(int64_t bytes, int device_id) {
  constexpr int64_t kAlignment = 256;
  if (bytes == 0) return nullptr;
  if (bytes <= INT64_MAX - kAlignment) bytes += kAlignment - 1;
  tensors_.push_back(cuda::Allocate(&bytes, 1, {kDLUInt, 8, 1}, device_id));
  const DLTensor* tensor = tensors_.back().GetDLTensorPtr();
  auto first = reinterpret_cast<uintptr_t>(tensor->data) + tensor->byte_offset + kAlignment - 1;
  return reinterpret_cast<void*>(first - first % kAlignment);
}

}  // namespace tvm::ffi::extra::cuda
