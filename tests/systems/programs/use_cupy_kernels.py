# SPDX-License-Identifier: Apache-2.0
"""CuPy kernels: the source of its objects, compiled without a GPU and without CuPy's compiler.

The kernels are shipped, then launched on the stand-in driver without CuPy.
"""

import cupy
from over_stand_in import run_over_stand_in
from refusals import refused

import tvm_ffi
from tvm_ffi.interop.nvrtc import from_raw_kernel, from_raw_module

SCALE = """
extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = FACTOR * a * x[i];
}
"""
TEMPLATES = """
namespace kernels {
template <typename T>
__global__ void scale(const T* x, T* y, T a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = FACTOR * a * x[i];
}
}
__global__ void nothing() {}
"""
LAUNCH = {"arguments": ["x", "y", "float32 a", "int32 n"], "grid": "cdiv(n, 128)", "block": 128}
SIGNATURE = "(x: float32[n], y: out float32[n], a: float = 2.0)"
SYMBOL = "_ZN7kernels5scaleIfEEvPKT_PS1_S1_i"


kernel = cupy.RawKernel(SCALE, "scale", options=("-DFACTOR=1",))
module = from_raw_kernel(kernel, f"scale_raw{SIGNATURE}", arch=["sm_80", "sm_90a"], **LAUNCH)
assert module.functions == ("scale_raw",)
tvm_ffi.export_library("raw.so", module)

templates = cupy.RawModule(
    code=TEMPLATES,
    options=("-DFACTOR=1", "--std=c++17"),
    name_expressions=["kernels::scale<float>"],
    enable_cooperative_groups=True,
)
functions = {
    "scale": {"signature": SIGNATURE, "kernel": "kernels::scale<float>", **LAUNCH},
    "alone": {"signature": "()", "kernel": "::nothing", "cooperative": False},
}
module = from_raw_module(templates, functions, arch="sm_90")
assert module.functions == ("alone", "scale")
tvm_ffi.export_library("module.so", module)

undefined = cupy.RawKernel(SCALE, "scale")
refused(
    RuntimeError, 'identifier "FACTOR" is undefined',
    lambda: from_raw_kernel(undefined, SIGNATURE, arch="sm_90", **LAUNCH),
)  # fmt: skip
another = cupy.RawKernel(SCALE, "shift", options=("-DFACTOR=1",))
refused(
    ValueError, "its kernels are: scale",
    lambda: from_raw_kernel(another, SIGNATURE, arch="sm_90", **LAUNCH),
)  # fmt: skip
wrong = {"scale": {**functions["scale"], "arguments": ["x", "y", "a", "n"]}}
refused(
    ValueError, "takes 4 bytes as argument 2, got 8 for 'a' (float64)",
    lambda: from_raw_module(templates, wrong, arch="sm_90"),
)  # fmt: skip
refused(
    TypeError, "expected a RawModule with source text, got one of the file 'kernels.cubin'",
    lambda: from_raw_module(cupy.RawModule(path="kernels.cubin"), functions, arch="sm_90"),
)  # fmt: skip
refused(
    TypeError, "expected a CuPy RawKernel, got ElementwiseKernel",
    lambda: from_raw_kernel(
        cupy.ElementwiseKernel("float32 x", "float32 y", "y = x"), SIGNATURE, arch="sm_90"
    ),
)  # fmt: skip
refused(
    TypeError, "expected a CuPy RawModule, got str",
    lambda: from_raw_module(SCALE, functions, arch="sm_90"),
)  # fmt: skip

run_over_stand_in(
    "nvrtc_launches.py",
    *("./raw.so", "scale_raw", "scale", "./module.so", "scale", f"{SYMBOL} cooperative"),
)
