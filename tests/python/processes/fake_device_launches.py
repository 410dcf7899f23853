# SPDX-License-Identifier: Apache-2.0
"""A program that launches kernels on the fake CUDA driver, which the loader must find first.

The driver calls a callback at each launch, which does the work of the kernel on host memory that
claims to be device memory.  The last printed line is ``done``.
"""

from __future__ import annotations

import ctypes
import threading

import forged
import pytest
from fake_device import OnLaunch, calls, driver

import tvm_ffi
from tvm_ffi import cuda

PTX = ".version 7.0\n.target sm_50\n.visible .entry scale_f32(.param .u64 x) { ret; }\n"
SCALE = cuda.Kernel(
    ["x: float32*", "factor: float32", "y: float32*", "n: int64"],
    ["gridDim", "blockDim"],
    symbol="scale_f32",
)


@OnLaunch
def scale(launch, data):
    """Do the work of the kernel ``scale_f32`` on the host."""
    params = launch.contents.params
    x, y = (ctypes.c_void_p.from_address(params[i]).value for i in (0, 2))
    factor = ctypes.c_float.from_address(params[1]).value
    for i in range(ctypes.c_int64.from_address(params[3]).value):
        value = ctypes.c_float.from_address(x + 4 * i).value
        ctypes.c_float.from_address(y + 4 * i).value = factor * value


def on_device(index: int = 0, **options: object) -> forged.Source:
    return forged.Source((12,), (1,), device=(2, index), **options)


def launches() -> list[str]:
    return calls("cuLaunch")


def check_values(module: tvm_ffi.Module) -> None:
    x, y = on_device(byte_offset=8), on_device()
    assert module.scale(x, 2.5, y, 3, (2, 3), 64) is None
    assert list(y.data)[:5] == [5.0, 7.5, 10.0, 3.0, 4.0]
    module["scale"](ctypes.c_void_p(x.address), -1, ctypes.c_void_p(y.address), 2, 1, [32, 2, 1])
    assert list(y.data)[:3] == [0.0, -1.0, 10.0]
    assert launches() == [
        "cuLaunchKernel(scale_f32 on 0, grid 2 3 1, block 64 1 1, 0 bytes, stream 0)",
        "cuLaunchKernel(scale_f32 on 0, grid 1 1 1, block 32 2 1, 0 bytes, stream 0)",
    ]


def check_stream(module: tvm_ffi.Module) -> None:
    x = on_device(1)
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 1), 0x1234):
        module.scale(x, 1, x, 0, 1, 1)
    module.scale(x, 1, x, 0, 1, 1)
    assert [line.rpartition(", ")[2] for line in launches()] == ["stream 0x1234)", "stream 0)"]


def check_streams_of_exporters(module: tvm_ffi.Module) -> None:
    """Check that exporters receive the stream on which the kernel is launched."""

    class Streaming(forged.Source):
        def __tvm_ffi_env_stream__(self) -> int:
            return 0x77

    x, y = Streaming((12,), (1,), device=(2, 1)), on_device(1)
    streams = []
    for first in (x, y):
        module.scale(first, 1, y, 0, 1, 1)
        streams.append(y.arguments["stream"])
    assert streams == [0x77, 1]  # in the array API standard, 1 is the default stream
    assert [line.rpartition(", ")[2] for line in launches()] == ["stream 0x77)", "stream 0)"]


def check_threads(module: tvm_ffi.Module) -> None:
    def work(index: int) -> None:
        x, y = on_device(index % 2), on_device(index % 2)
        for _ in range(50):
            module.scale(x, index, y, 12, 1, 1)
        results.append(list(y.data) == [float(index * i) for i in range(12)])

    results: list[bool] = []
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 6
    assert len(launches()) == 300


def check_errors(module: tvm_ffi.Module) -> None:
    x, other = on_device(), on_device(1)
    with pytest.raises(ValueError, match=r"argument 2 `y`: expected a tensor on cuda:0 like arg"):
        module.scale(x, 1, other, 1, 1, 1)
    driver.fake_driver_fail(b"cuLaunchKernel", 719, 0)
    with pytest.raises(RuntimeError, match=r"kernel `scale_f32` on cuda:0 .* \(719\): a desc"):
        module.scale(x, 1, x, 1, 1, 1)
    launches()


def main() -> None:
    driver.fake_driver_on_launch(scale, None)
    module = cuda.create_module(PTX, {"scale": SCALE})
    for check in (
        check_values, check_stream, check_streams_of_exporters, check_threads, check_errors,
    ):  # fmt: skip
        check(module)
    del module
    assert driver.fake_driver_live_images() == 0
    assert driver.fake_driver_live_contexts() == 0
    print("done")


if __name__ == "__main__":
    main()
