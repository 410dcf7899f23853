# SPDX-License-Identifier: Apache-2.0
"""Compile a cuteDSL function for the host, call it, export it, and compile one for a GPU."""

import os
import subprocess
from pathlib import Path

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")

import cutlass
import numpy as np
from cutlass import cute
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor

import tvm_ffi


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, s: cutlass.Float32):
    for i in range(cute.size(a)):
        b[i] = a[i] + s


x = np.arange(6, dtype=np.float32)
y = np.zeros(6, dtype=np.float32)
compiled = cute.compile(
    add, from_dlpack(x), from_dlpack(y), cutlass.Float32(0), options="--enable-tvm-ffi"
)
compiled(x, y, 2.0)
np.testing.assert_array_equal(y, x + 2)
try:
    compiled(x, y)
except TypeError as error:
    assert "'s'" in str(error), error
else:
    raise AssertionError("a missing argument was not found")

compiled.export_to_c(object_file_path="host.o", function_name="add")
subprocess.run(["gcc", "-shared", "host.o", "-o", "host.so"], check=True)
module = tvm_ffi.load_module(str(Path("host.so").resolve()))
module.add(x, y, 3.0)
np.testing.assert_array_equal(y, x + 3)


@cute.kernel
def add_on_gpu(a: cute.Tensor, b: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    b[i] = a[i] + 1.0


@cute.jit
def launch(a: cute.Tensor, b: cute.Tensor):
    add_on_gpu(a, b).launch(grid=(1, 1, 1), block=(32, 1, 1))


fake = make_fake_compact_tensor(cutlass.Float32, (32,))
on_gpu = cute.compile(launch, fake, fake, options="--enable-tvm-ffi")
on_gpu.export_to_c(object_file_path="gpu.o", function_name="launch")
assert Path("gpu.o").stat().st_size > 0
print("done")
