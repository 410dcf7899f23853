# SPDX-License-Identifier: Apache-2.0
"""Compile kernels with Hidet: for the host, called through a signature; for CUDA, launched."""

import subprocess
from pathlib import Path

import hidet
import numpy as np
import torch
from hidet.ir.primitives.math import exp
from hidet.lang import attrs
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lang.types import f32, i32
from over_stand_in import run_over_stand_in
from refusals import refused

import tvm_ffi
from tvm_ffi import codegen

with hidet.script_module() as script:

    @hidet.script
    def launch(x: ~f32, y: ~f32, n: i32, m: i32):
        attrs.func_kind = "public"
        for i in range(n):
            total = f32(0.0)
            for j in range(m):
                y[i * m + j] = exp(x[i * m + j])
                total = total + y[i * m + j]
            for j in range(m):
                y[i * m + j] = y[i * m + j] / total


hidet.drivers.build_ir_module(script.ir_module(), output_dir="./out", target="cpu")
SIGNATURE = "softmax(x: float32*[n, m], y: out float32*[n, m])"
softmax = codegen.make_wrapper(
    SIGNATURE, "hidet_launch", arguments=["x", "y", "int32 n", "int32 m"]
)
module = codegen.wrap_library("out/lib.so", [softmax])

x, y = np.array([[1, 2, 3], [0, 0, 0]], np.float32), np.zeros((2, 3), np.float32)
module.softmax(y=y, x=x)
np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-6)

x, y = torch.rand(4, 8), torch.empty(4, 8)
module.softmax(x, y)
torch.testing.assert_close(y, torch.softmax(x, 1))
try:
    module.softmax(x, torch.empty(8, 4))
except ValueError as error:
    assert str(error) == "softmax() argument 'y': shape[0] must be n = 4, got 8", error
else:
    raise AssertionError("the kernel accepted a tensor of a wrong shape")

# The exported files: one library of wrappers, and Hidet's library.
codegen.wrap_library("out/lib.so", [softmax], output=Path("out/softmax.so"))
shipped = tvm_ffi.load_module("out/softmax.so")
shipped.softmax(x, y)
torch.testing.assert_close(y, torch.softmax(x, 1))
assert str(shipped.get_function_signature("softmax")).startswith("softmax(x: float32*[n, m] on cpu")

# ---- CUDA ----------------------------------------------------------------------------------------

with hidet.script_module() as script:

    @hidet.script
    def rows(x: ~f32, y: ~f32, n: i32, m: i32):
        attrs.func_kind = "cuda_kernel"
        attrs.cuda.grid_dim = (n + 127) // 128
        attrs.cuda.block_dim = 128
        i = blockIdx.x * 128 + threadIdx.x
        if i < n:
            total = f32(0.0)
            for j in range(m):
                y[i * m + j] = exp(x[i * m + j])
                total = total + y[i * m + j]
            for j in range(m):
                y[i * m + j] = y[i * m + j] / total


try:
    hidet.drivers.build_ir_module(script.ir_module(), "./cuda", target="cuda --arch=sm_90")
except RuntimeError as error:  # the error comes without a GPU, when the source is generated
    assert str(error) == "CUDA is not available.", error
options = ["-std=c++17", "-arch=sm_90", f"-I{Path(hidet.__path__[0]) / 'include'}"]
subprocess.run(["nvcc", "-cubin", *options, "cuda/source.cu", "-o", "rows.cubin"], check=True)
on_gpu = codegen.make_launch_plan(
    SIGNATURE.replace("*", ""),
    Path("rows.cubin"),
    "_Z10hidet_rowsPfS_ii",
    arguments=["x", "y", "int32 n", "int32 m"],
    grid="cdiv(n, 128)",
    block=128,
)
tvm_ffi.export_library("rows.so", codegen.launch_module(on_gpu))

# ---- Rejected input, and launches ----------------------------------------------------------------


def plan_refused(text, kernel="_Z10hidet_rowsPfS_ii", last="int32 m") -> None:
    given = SIGNATURE, Path("rows.cubin"), kernel
    refused(
        ValueError, text, codegen.make_launch_plan, *given, arguments=["x", "y", "int32 n", last]
    )


plan_refused("has no kernel 'rows'; its kernels are: _Z10hidet_rowsPfS_ii", kernel="rows")
plan_refused("takes 4 bytes as argument 3, got 8 for 'm' (int64)", last="m")
run_over_stand_in("hidet_launches.py")
