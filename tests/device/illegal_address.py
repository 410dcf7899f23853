# SPDX-License-Identifier: Apache-2.0
"""A kernel that reads an illegal address; the argument is the PTX of ``scale_f32``.

CUDA reports the error to later calls, which name their kernel.  The last printed line is ``done``.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from tvm_ffi import codegen, cuda

FAILED = (
    r"CUDA driver: cuLaunchKernel failed for kernel `scale_f32` on cuda:0 with grid \(1, 1, 1\), "
    r"block \(1, 1, 1\), 0 bytes of dynamic shared memory: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"
)


def main(ptx: Path) -> None:
    """Call a module and a launch plan before and after the error."""
    driver = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    parameters = ["x: void*", "factor: float32", "y: void*", "n: int64"]
    module = cuda.create_module(ptx, {"scale": cuda.Kernel(parameters, symbol="scale_f32")})
    plan = codegen.make_launch_plan(
        "scale(x: ctypes.c_void_p, n: int)",
        ptx,
        "scale_f32",
        arguments=["x", "float32 1.0", "x", "n"],
    )
    planned = codegen.launch_module(plan)
    address = ctypes.c_void_p(8)
    module.scale(address, 1, address, 0, 1, 1)  # loads the image and, with n = 0, reads nothing
    planned.scale(address, 0)
    module.scale(address, 1, address, 1, 1, 1)  # returns before the kernel runs
    if hasattr(driver, "fake_driver_fail"):
        driver.fake_driver_fail(b"cuLaunchKernel", 700, 0)
        driver.fake_driver_fail(b"cuLaunchKernel", 700, 1)
    else:
        assert driver.cuCtxSynchronize() == 700
    with pytest.raises(RuntimeError, match=FAILED):
        module.scale(address, 1, address, 0, 1, 1)
    with pytest.raises(RuntimeError, match=FAILED):
        planned.scale(address, 0)
    print("done")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
