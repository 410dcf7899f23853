# SPDX-License-Identifier: Apache-2.0
"""Compile a kernel with TileLang for the host and for a GPU, export it, and load the export."""

import importlib.metadata
import subprocess
import sys

import tilelang
import tilelang.cpu.language as C
import tilelang.language as T
import torch

SIZE = 64


@C.prim_func
def add_one_on_host(A: C.Tensor((SIZE,), "float32"), B: C.Tensor((SIZE,), "float32")):
    with C.Kernel(1):
        for i in C.serial(SIZE):
            B[i] = A[i] + 1.0


@T.prim_func
def add_one(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((SIZE,), "float32")):
    with T.Kernel(1, threads=SIZE):
        for i in T.Parallel(SIZE):
            B[i] = A[i] + 1.0


x, y = torch.arange(SIZE, dtype=torch.float32), torch.zeros(SIZE)
tilelang.compile(add_one_on_host, target="c")(x, y)
assert torch.equal(y, x + 1)

kernel = tilelang.compile(
    add_one, target={"kind": "cuda", "arch": "sm_90"}, execution_backend="tvm_ffi"
)
kernel.export_library("add_one.so")

# The second process has no TileLang; only `tvm_ffi` provides a loader there.
LOAD = """
import sys, numpy, tvm_ffi
tvm_ffi.cuda.register_tvm_loader()
module = tvm_ffi.load_module("./add_one.so")
assert [imported.kind for imported in module.imports] == ["cuda_driver"]
row = numpy.zeros(64, "float32")
try:
    module.add_one(row, row)
except RuntimeError as error:
    assert "device_type mismatch" in str(error), error
else:
    raise AssertionError("a kernel took an array of the host")
assert "tilelang" not in sys.modules
"""
if "pytvmffi" in {item.name for item in importlib.metadata.distributions()}:
    subprocess.run([sys.executable, "-c", LOAD], check=True)
print("done")
