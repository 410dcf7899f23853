# SPDX-License-Identifier: Apache-2.0
"""Launch PTX that `use_mojo.py` generated, and export it to an environment without Mojo."""

import ctypes
import sys
from pathlib import Path

import numpy as np
from device_array import Array
from fake_device import calls, driver, run_at_launch
from refusals import refused

import tvm_ffi
from tvm_ffi import codegen

kernels = Path.cwd() / "mojo_kernel"
(ptx,) = (kernels / "build").glob("*.ptx")
sys.path.insert(0, str(kernels))
from run_device import load  # noqa: E402 # the example, which was copied


def scale(launch) -> None:
    """Compute the result of the kernel on the host, block by block."""
    x, y, n, factor = launch.values(
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
    )
    source, target = ((ctypes.c_float * n).from_address(address) for address in (x, y))
    for i in range(launch.grid[0] * launch.block[0]):
        if i < n:
            target[i] = factor * source[i]


module = load(ptx)
text = "scale(x: float32*[n] on cuda, y: out float32*[n] on cuda, factor: float = 2.0)"
tvm_ffi.export_library("scale.so", module)
for one in (module, tvm_ffi.load_module("./scale.so")):
    assert one.functions == ("scale",)
    assert str(one.get_function_signature("scale")) == text
    for n, blocks in ((1, 1), (256, 1), (257, 2)):
        x, y = Array(np.arange(n, dtype=np.float32)), Array(np.zeros(n, np.float32))
        calls()
        with run_at_launch(scale):
            one.scale(x, y=y, factor=2.5)
        (line,) = calls("cuLaunch")
        assert f" on 0, grid {blocks} 1 1, block 256 1 1, 0 bytes, stream 0" in line, line
        assert "device_scale" in line, line  # the name of the kernel itself
        np.testing.assert_array_equal(y.content, 2.5 * x.content)


wrong = "scale() argument 'y': shape[0] must be n = 257, got 256"
refused(ValueError, wrong, module.scale, x, Array(np.zeros(256, np.float32)))
empty = Array(np.zeros(0, np.float32))
refused(ValueError, "must be from 1 to 2147483647, got 0", module.scale, empty, empty)
(symbol,) = (line.split(" ")[2][:-1] for line in ptx.read_text().splitlines() if ".entry" in line)
signature = "scale(x: float32[n], y: out float32[n])"


def planned(arguments: list[str], kernel: str = symbol) -> None:
    codegen.make_launch_plan(signature, ptx, kernel, arguments=arguments)


refused(ValueError, "takes 8 bytes as argument 2", planned, ["x", "y", "int32 n", "float32 1.0"])
refused(ValueError, "takes 4 arguments, got 3", planned, ["x", "y", "n"])
refused(ValueError, symbol, planned, ["x", "y", "n", "float32 1.0"], "scale")
driver.fake_driver_set_capability(1, 100)
for one in (x, y):
    one.managed.tensor.device.id = 1
refused(RuntimeError, "Stand-in 1 (sm_100); expected one of PTX for sm_90a", module.scale, x, y)

print("done")
