# SPDX-License-Identifier: Apache-2.0
"""Launch scaling functions that were compiled and exported.

Arguments are ``LIBRARY FUNCTION "SYMBOL ATTRIBUTE..."`` of each.
"""

import ctypes
import sys

from fake_device import calls, run_at_launch, vector

import tvm_ffi


def scale(launch) -> None:
    """Compute the result of the kernel on the host."""
    x, y, a, n = launch.values(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int32)
    source, target = ((ctypes.c_float * n).from_address(address) for address in (x, y))
    target[:] = [a * value for value in source]


for path, name, symbol in zip(*[iter(sys.argv[1:])] * 3):
    function = tvm_ffi.load_module(path)[name]
    x, y = vector(), vector()
    calls()
    with run_at_launch(scale):
        function(x, y, a=3)
    assert list(y.data) == [3.0 * i for i in range(12)]
    kernel, *attributes = symbol.split()
    driver = "cuLaunchKernelEx" if attributes else "cuLaunchKernel"
    launch = [f"{kernel} on 0", "grid 1 1 1", "block 128 1 1", "0 bytes", "stream 0", *attributes]
    assert calls("cuLaunch") == [f"{driver}({', '.join(launch)})"]

print("done")
