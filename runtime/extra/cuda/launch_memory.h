// SPDX-License-Identifier: Apache-2.0
// Memory of a call of a launch plan, allocated with the environment's allocator: result tensors and
// workspaces.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_MEMORY_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_MEMORY_H_

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/container/tensor.h>

#include <vector>

#include "cuda/launch_call.h"
#include "cuda/launch_program.h"

namespace tvm::ffi::extra::cuda {

// Allocates the results of a plan and stores them in the tensor slots of the call.
std::vector<Tensor> AllocateResults(const LaunchProgram& program, int device_id, LaunchCall* call);
// Stores the results, if there are any, in *result: one tensor, or an array of tensors.
void ReturnResults(const std::vector<Tensor>& results, TVMFFIAny* result);

// The workspaces of a launch variant.  The destructor frees them.
class Workspaces {
 public:
  Workspaces() = default;
  // Allocates the workspaces, and stores their addresses in the slots of the call.
  Workspaces(const LaunchVariant& variant, int device_id, const LaunchCall& call);

 private:
  void* Allocate(int64_t bytes, int device_id);

  std::vector<Tensor> tensors_;
};

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_LAUNCH_MEMORY_H_
