// SPDX-License-Identifier: Apache-2.0
// CUDA kernel and its host function: add_one(x, y) computes y = x + 1.
//
// The arguments are compact float32 vectors on one CUDA device.  The kernel runs on the calling
// thread's current stream of that device.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/device_guard.h>
#include <tvm/ffi/function.h>

namespace ffi = tvm::ffi;

namespace {

constexpr DLDataType kFloat32{kDLFloat, 32, 1};

__global__ void AddOneKernel(const float* x, float* y, int64_t size) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < size) y[i] = x[i] + 1.0f;
}

// Checks that a tensor is a compact float32 vector on a CUDA device; returns the address of its
// first element.
float* VectorData(ffi::TensorView tensor, const char* name) {
  TVM_FFI_CHECK(tensor.device().device_type == kDLCUDA, ValueError)
      << "`" << name << "` must be a CUDA tensor";
  TVM_FFI_CHECK_EQ(tensor.dtype(), kFloat32, TypeError) << "`" << name << "` must be float32";
  TVM_FFI_CHECK_EQ(tensor.ndim(), 1, ValueError) << "`" << name << "` must be a vector";
  TVM_FFI_CHECK(tensor.IsContiguous(), ValueError) << "`" << name << "` must be compact";
  return reinterpret_cast<float*>(static_cast<char*>(tensor.data_ptr()) + tensor.byte_offset());
}

void AddOne(ffi::TensorView x, ffi::TensorView y) {
  const float* from = VectorData(x, "x");
  float* to = VectorData(y, "y");
  int64_t size = x.size(0);
  DLDevice device = x.device();
  TVM_FFI_CHECK_EQ(y.size(0), size, ValueError) << "`x` and `y` must have one length";
  TVM_FFI_CHECK_EQ(y.device().device_id, device.device_id, ValueError)
      << "`x` and `y` must be on one device";
  if (size == 0) return;  // return early, because CUDA refuses a launch without blocks

  ffi::CUDADeviceGuard guard(device.device_id);
  // The stream is borrowed from the caller.  For PyTorch tensors it is PyTorch's current stream.
  cudaStream_t stream =
      static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  constexpr int kThreads = 256;
  AddOneKernel<<<static_cast<unsigned>((size + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      from, to, size);
  TVM_FFI_CHECK_CUDA_ERROR(cudaGetLastError());  // checks the launch, without waiting for its end
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, AddOne);
