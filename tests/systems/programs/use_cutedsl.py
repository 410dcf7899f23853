# SPDX-License-Identifier: Apache-2.0
"""Compile cuteDSL functions for the host and for a GPU, export them, and run their checks."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")

import cutlass
import numpy as np
from cutlass import cute
from cutlass.cute.runtime import find_runtime_libraries, from_dlpack, make_fake_compact_tensor


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, s: cutlass.Float32):
    for i in range(cute.size(a)):
        b[i] = a[i] + s


@cute.kernel
def add_on_gpu(a: cute.Tensor, b: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    b[i] = a[i] + 1.0


@cute.jit
def launch(a: cute.Tensor, b: cute.Tensor):
    add_on_gpu(a, b).launch(grid=(1, 1, 1), block=(32, 1, 1))


# ---- For the host: called here, and exported without the compiler's libraries --------------------

x, y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
on_host = cute.compile(
    add, from_dlpack(x), from_dlpack(y), cutlass.Float32(0), options="--enable-tvm-ffi"
)
on_host(x, y, 2.0)
np.testing.assert_array_equal(y, x + 2)
on_host.export_to_c(object_file_path="host.o", function_name="add")
subprocess.run(["cc", "-shared", "host.o", "-o", "host.so"], check=True)

# ---- For a GPU: compiled without one -------------------------------------------------------------

fake = make_fake_compact_tensor(cutlass.Float32, (32,))
on_gpu = cute.compile(launch, fake, fake, options="--enable-tvm-ffi")
on_gpu.export_to_c(
    object_file_path="gpu.o", function_name="launch", export_only_tvm_ffi_symbols=True
)
runtime = find_runtime_libraries(enable_tvm_ffi=True)
folders = {f"-Wl,-rpath,{Path(library).parent}" for library in runtime}
subprocess.run(["cc", "-shared", "gpu.o", *runtime, *folders, "-o", "gpu.so"], check=True)

# ---- Both, without cuteDSL -----------------------------------------------------------------------


def refusal(call, *args):
    """Return the error message of a call that must fail."""
    try:
        call(*args)
    except (RuntimeError, TypeError, ValueError) as error:
        return str(error)
    raise AssertionError("a call with wrong arguments raised no error")


def use_exports():
    import tvm_ffi

    x, y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    host = tvm_ffi.load_module("./host.so")
    host.describe({"add": "add(a: float32[n], b: out float32[n], s: float32)"})
    host.add(x, s=3.0, b=y)
    np.testing.assert_array_equal(y, x + 3)
    assert "missing 1 required positional argument: 's'" in refusal(host.add, x, y)

    gpu = tvm_ffi.load_module("./gpu.so")
    row = np.zeros(32, np.float32)
    for args, text in [
        ((row,), "Expects 2 parameters when calling: `launch(a: Tensor([32], float32)"),
        ((1, row), "Mismatched type on argument #0"),
        ((row.reshape(4, 8), row), "expected ndim=1"),
        ((row, row), "Mismatched Tensor on argument #0"),
        ((row, row), "expected device_type=cuda"),
    ]:
        said = refusal(gpu.launch, *args)
        assert text in said, said
    assert "cutlass" not in sys.modules


USE = f"import sys, numpy as np\n{inspect.getsource(refusal)}{inspect.getsource(use_exports)}"
subprocess.run([sys.executable, "-c", f"{USE}use_exports()"], check=True)
print("done")
