# SPDX-License-Identifier: Apache-2.0
"""Compile kernels with TileLang for the host and for a GPU; export them, with names and checks."""

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

os.environ["TILELANG_CACHE_DIR"] = str(Path.cwd() / "tilelang")  # not a parameter of the user

import tilelang
import tilelang.cpu.language as C
import tilelang.language as T
import torch

from tvm_ffi import Signature, codegen

SIZE = 64
SIGNATURE = Signature.parse("add_one(A: float32[64], B: out float32[64])")


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


def refusal(call, *args):
    """Return the error message of a call that must fail."""
    try:
        call(*args)
    except (RuntimeError, TypeError, ValueError) as error:
        return str(error)
    raise AssertionError("a call with wrong arguments raised no error")


x, y = torch.arange(SIZE, dtype=torch.float32), torch.zeros(SIZE)
wrong = torch.zeros(SIZE + 1)

# ---- The C target: a library with a C function, called through its signature ---------------------

on_host = tilelang.compile(add_one_on_host, target="c")
shutil.copy(on_host.adapter.libpath, "libadd_one.so")
wrapper = codegen.make_wrapper(SIGNATURE, "call", returns="status")
module = codegen.wrap_library("libadd_one.so", [wrapper], output=Path.cwd() / "add_one_on_host.so")
module.add_one(B=y, A=x)
assert torch.equal(y, x + 1)
said = refusal(module.add_one, x, wrong)
assert said == "add_one() argument 'B': shape[0] must be 64, got 65", said
said = refusal(module.add_one, x.double(), y)
assert said == "add_one() argument 'A': expected dtype float32, got float64", said

# ---- CUDA: a library of the ABI, which has checks but no parameter names -------------------------

kernel = tilelang.compile(
    add_one, target={"kind": "cuda", "arch": "sm_90"}, execution_backend="tvm_ffi"
)
kernel.export_library("add_one.so")

# This process has no TileLang; only `tvm_ffi` provides a loader for the module here.
LOAD = f"""
import inspect, sys, torch, tvm_ffi
tvm_ffi.cuda.register_tvm_loader()
module = tvm_ffi.load_module("./add_one.so")
assert [imported.kind for imported in module.imports] == ["cuda_driver"]
module.describe({{"add_one": {str(SIGNATURE)!r}}})
assert list(inspect.signature(module.add_one).parameters) == ["A", "B"]
row = torch.zeros({SIZE})
try:
    module.add_one(B=row, A=row)
except ValueError as error:
    assert "the array shares memory with argument 'A'" in str(error), error
else:
    raise AssertionError("the call accepted arguments that overlap")
try:
    module.add_one(B=row.clone(), A=row)
except RuntimeError as error:
    assert "device_type mismatch" in str(error), error
else:
    raise AssertionError("the CUDA kernel accepted a tensor in host memory")
try:
    module.add_one(row, C=row)
except TypeError as error:
    assert "unexpected keyword argument 'C'" in str(error), error
else:
    raise AssertionError("the call accepted an unknown parameter name")
assert "tilelang" not in sys.modules
"""
subprocess.run([sys.executable, "-c", LOAD], check=True)
assert list(inspect.signature(module.add_one).parameters) == ["A", "B"]
print("done")
