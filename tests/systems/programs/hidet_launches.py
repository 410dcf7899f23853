# SPDX-License-Identifier: Apache-2.0
"""Launch the CUDA kernels that `use_hidet.py` has compiled and exported."""

import ctypes

import numpy as np
from device_array import Array
from fake_device import calls, run_at_launch

import tvm_ffi


def rows(launch) -> None:
    """Compute the result of the kernel on the host."""
    x, y, n, m = launch.values(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)
    source, target = (
        np.ctypeslib.as_array((ctypes.c_float * (n * m)).from_address(address)).reshape(n, m)
        for address in (x, y)
    )
    for i in range(min(n, launch.grid[0] * launch.block[0])):
        target[i] = np.exp(source[i]) / np.exp(source[i]).sum()


module = tvm_ffi.load_module("./rows.so")
text = "softmax(x: float32*[n, m] on cuda, y: out float32*[n, m] on cuda)"
assert str(module.get_function_signature("softmax")) == text
for n, m, blocks in ((1, 5, 1), (128, 2, 1), (129, 3, 2)):
    content = np.random.default_rng(n).random((n, m), np.float32)
    x, y = Array(content), Array(np.zeros((n, m), np.float32))
    calls()
    with run_at_launch(rows):
        module.softmax(y=y, x=x)
    (line,) = calls("cuLaunch")
    assert "hidet_rows" in line, line
    assert f" on 0, grid {blocks} 1 1, block 128 1 1, 0 bytes, stream 0" in line, line
    np.testing.assert_allclose(y.content.sum(1), np.ones(n), rtol=1e-5)
try:
    module.softmax(x, Array(np.zeros((3, 129), np.float32)))
except ValueError as error:
    assert str(error) == "softmax() argument 'y': shape[0] must be n = 129, got 3", error
else:
    raise AssertionError("the kernel accepted a tensor of a wrong shape")

print("done")
