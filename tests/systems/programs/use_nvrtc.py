# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ text: compiled by NVRTC and shipped, then launched on the stand-in driver.

NVRTC runs in a process without the stand-in, which lacks driver functions that it needs.
"""

from over_stand_in import run_over_stand_in
from refusals import refused

import tvm_ffi
from tvm_ffi.interop.nvrtc import to_module

SOURCE = """
extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = FACTOR * a * x[i];
}
extern "C" __global__ void shift(float* x, double by) { x[threadIdx.x] += by; }
"""
TEMPLATE = """
namespace kernels {
template <typename T>
__global__ void scale_any(const T* x, T* y, T a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
}
"""
SCALE = {
    "signature": "(x: float32[n], y: out float32[n], a: float = 2.0)",
    "arguments": ["x", "y", "float32 a", "int32 n"],
    "grid": "cdiv(n, 128)",
    "block": 128,
}
SHIFT = {"signature": "(x: inout float32[n], by: float)", "block": "n"}


functions = {"scale": SCALE, "shift": SHIFT}
module = to_module(SOURCE, functions, arch=["sm_80", "sm_90a"], options=["-DFACTOR=1"])
assert module.functions == ("scale", "shift")
tvm_ffi.export_library("kernels.so", module)
instance = {**SCALE, "kernel": "kernels::scale_any<float>"}
tvm_ffi.export_library("instance.so", to_module(TEMPLATE, {"instance": instance}, arch="sm_90"))


undefined = 'identifier "FACTOR" is undefined'
refused(RuntimeError, undefined, lambda: to_module(SOURCE, {}, arch="sm_90"))
plain = SOURCE.replace('extern "C"', "").replace("FACTOR", "1")
refused(ValueError, "its kernels are: _Z5scale", lambda: to_module(plain, functions, arch="sm_90"))
wrong = {"scale": {**SCALE, "arguments": ["x", "y", "a", "n"]}}
refused(
    ValueError,
    "takes 4 bytes as argument 2, got 8 for 'a' (float64)",
    lambda: to_module(SOURCE, wrong, arch="sm_90", options=["-DFACTOR=1"]),
)
refused(ValueError, "expected at least one architecture", lambda: to_module("", {}, arch=[]))
wrong = {"scale": {**instance, "kernel": "kernels::scale_none<float>"}}
refused(RuntimeError, "scale_none", lambda: to_module(TEMPLATE, wrong, arch="sm_90"))

run_over_stand_in(
    "nvrtc_launches.py",
    *("./kernels.so", "scale", "scale"),
    *("./instance.so", "instance", "_ZN7kernels9scale_anyIfEEvPKT_PS1_S1_i"),
)
