# SPDX-License-Identifier: Apache-2.0
"""Export a function for the host that cuteDSL compiles."""

import os
import subprocess

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.jit
def add(x: cute.Tensor, y: cute.Tensor):
    for i in range(cute.size(x)):
        y[i] = x[i] + cutlass.Float32(1)


def vector(extent):
    return make_fake_compact_tensor(cutlass.Float32, (extent,), memspace=cute.AddressSpace.generic)


n = cute.sym_int()
compiled = cute.compile(add, vector(n), vector(n), options="--enable-tvm-ffi")
compiled.export_to_c(object_file_path="add.o", function_name="add")
subprocess.run(["cc", "-shared", "add.o", "-o", "emitted.so"], check=True)
