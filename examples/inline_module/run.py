# SPDX-License-Identifier: Apache-2.0
"""Inline kernels in C and C++ and, with a GPU and nvcc, in CUDA."""

from __future__ import annotations

import shutil

import numpy as np

from tvm_ffi import cpp

# C source of an exported function; compiles in a tenth of a second.
HALVE_C = """
int __tvm_ffi_halve(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  if (num_args != 1 || args[0].type_index != kTVMFFIFloat) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "halve(x): expected a float");
    return -1;
  }
  *result = (TVMFFIAny){.type_index = kTVMFFIFloat, .v_float64 = args[0].v_float64 / 2};
  return 0;
}
"""

# C++ source of a function with C++ types; load_inline generates the export of the named functions.
ADD_CPP = """
void add_one(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  TVM_FFI_CHECK(x.ndim() == 1 && x.IsContiguous() && y.IsContiguous(), ValueError)
      << "expected compact vectors";
  TVM_FFI_CHECK(x.size(0) == y.size(0), ValueError) << "expected vectors of one length";
  const float* from = static_cast<const float*>(x.data_ptr());
  float* to = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.size(0); ++i) to[i] = from[i] + 1;
}
"""

# CUDA source of a kernel, and of a function that launches it on the caller's stream.
FILL_CUDA = """
__global__ void fill_kernel(float* x, int64_t n, float value) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) x[i] = value;
}

void fill(tvm::ffi::TensorView x, double value) {
  int64_t n = x.numel();
  if (n == 0) return;
  DLDevice device = x.device();
  auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  fill_kernel<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(x.data_ptr()), n, value);
}
"""


def main() -> None:
    """Build the three sources and call their functions."""
    halve = cpp.load_inline("example_c", c_sources=HALVE_C, functions="halve").halve
    print("C    halve(3.0) =", halve(3.0))

    docs = {"add_one": "Write x + 1 to y."}
    add_one = cpp.load_inline("example_cpp", cpp_sources=ADD_CPP, functions=docs).add_one
    y = np.zeros(3, np.float32)
    add_one(np.array([1, 2, 3], np.float32), y)
    print("C++  add_one wrote", y)
    try:
        add_one(np.zeros(2, np.float32), y)
    except ValueError as error:
        print("    ", type(error).__name__, str(error).rpartition(": ")[2])

    print("CUDA", call_cuda())


def call_cuda() -> str:
    """Call a CUDA kernel and return its result, or the reason why it cannot run."""
    if shutil.which("nvcc") is None:
        return "no nvcc, skipped"
    try:
        import torch
    except ImportError:
        return "no PyTorch, skipped"
    if not torch.cuda.is_available():
        return "no GPU, skipped"
    x = torch.zeros(3, device="cuda")
    cpp.load_inline("example_cuda", cuda_sources=FILL_CUDA, functions="fill").fill(x, 7.0)
    return f"fill wrote {x.tolist()}"


if __name__ == "__main__":
    main()
