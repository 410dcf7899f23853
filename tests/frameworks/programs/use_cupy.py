# SPDX-License-Identifier: Apache-2.0
"""CuPy and Numba-CUDA: the attributes that give streams and, with a GPU, the streams.

Prints ``done`` last.
"""

from __future__ import annotations

import inspect

import cupy
from numba import cuda
from numba.cuda.cudadrv.devicearray import DeviceNDArray

import tvm_ffi

device = tvm_ffi.device("cuda", 0)
streams: list[int] = []
# Native code calls this function to get the current stream during the call.
note = tvm_ffi.convert_func(lambda *arrays: streams.append(tvm_ffi.get_raw_stream(device)))


def check_names() -> None:
    assert (cupy.ndarray.__module__, cupy.ndarray.__name__) == ("cupy", "ndarray")
    assert "device_id" in cupy.cuda.get_current_stream.__doc__
    assert cupy.cuda.Stream.null.__cuda_stream__()[1] == 0
    assert cupy.cuda.Stream.ptds.__cuda_stream__()[1] == 2
    assert hasattr(cupy.cuda.ExternalStream, "__cuda_stream__")
    assert not hasattr(cupy.ndarray, "__dlpack_c_exchange_api__")
    assert hasattr(DeviceNDArray, "__cuda_array_interface__")
    assert not hasattr(DeviceNDArray, "__dlpack__")
    assert '"stream"' in inspect.getsource(DeviceNDArray.__cuda_array_interface__.fget)


def check_streams_of_cupy() -> None:
    with cupy.cuda.Stream(non_blocking=True) as stream:
        array = cupy.arange(1 << 24) * 2
        note(array)
        note([array])
    note(array)
    assert streams[-3:] == [stream.ptr, stream.ptr, 0]
    with tvm_ffi.use_raw_stream(device, stream):
        kept = tvm_ffi.from_dlpack(array)
    assert (kept.device, kept.shape) == (device, array.shape)


def check_streams_of_numba() -> None:
    stream = cuda.stream()
    array = cuda.device_array(8, "float32", stream=stream)
    note(array)
    note(cuda.device_array(8, "float32"))
    assert streams[-2:] == [int(stream), 0]


def has_device() -> bool:
    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


if __name__ == "__main__":
    check_names()
    if has_device():
        check_streams_of_cupy()
        check_streams_of_numba()
    else:
        print("no CUDA device: names only")
    print("done")
