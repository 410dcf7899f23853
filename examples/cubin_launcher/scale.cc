// SPDX-License-Identifier: Apache-2.0
// Host code: scale(x, factor, y) computes y = factor * x with a kernel of an embedded device image.
//
// The file needs only a C++ compiler.  The device image is precompiled and linked into the library;
// the first call of the function loads it.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/extra/cuda/device_guard.h>
#include <tvm/ffi/function.h>

namespace ffi = tvm::ffi;

TVM_FFI_EMBED_CUBIN(scale);

namespace {

constexpr DLDataType kFloat32{kDLFloat, 32, 1};

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

void Scale(ffi::TensorView x, float factor, ffi::TensorView y) {
  const float* from = VectorData(x, "x");
  float* to = VectorData(y, "y");
  int64_t size = x.size(0);
  DLDevice device = x.device();
  TVM_FFI_CHECK_EQ(y.size(0), size, ValueError) << "`x` and `y` must have one length";
  TVM_FFI_CHECK_EQ(y.device().device_id, device.device_id, ValueError)
      << "`x` and `y` must be on one device";
  if (size == 0) return;  // return early, because CUDA refuses a launch without blocks

  // The kernel object can be used on all devices; it is launched on the current device.
  ffi::CUDADeviceGuard guard(device.device_id);
  static const ffi::CubinKernel kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(scale, "scale_f32");
  cudaStream_t stream =
      static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  constexpr unsigned kThreads = 256;
  unsigned blocks = static_cast<unsigned>((size + kThreads - 1) / kThreads);
  // The addresses of the arguments, in the order of the parameters of scale_f32.
  void* args[] = {&from, &factor, &to, &size};
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(
      kernel.Launch(args, ffi::dim3(blocks), ffi::dim3(kThreads), stream));
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, Scale);
