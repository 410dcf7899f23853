# SPDX-License-Identifier: Apache-2.0
"""Detection of CUDA graph capture, with libraries that the process has loaded already."""

from __future__ import annotations

import ctypes
import os
import sys

from .._internal.platform import CUDA_DRIVER

__all__ = ["is_capturing"]

_ACTIVE = 1  # CU_STREAM_CAPTURE_STATUS_ACTIVE


def is_capturing() -> bool:
    """Return True if a current stream of this thread is being captured into a CUDA graph.

    The current streams are those of torch and of `tvm_ffi.use_raw_stream`, for each device.
    """
    driver = _loaded_driver()
    return driver is not None and (_torch_captures() or _own_streams_capture(driver))


def _loaded_driver() -> ctypes.CDLL | None:
    """Return the CUDA driver if this process has loaded it; never load it."""
    no_load = getattr(os, "RTLD_NOLOAD", None)
    if no_load is None:
        return None
    try:
        return ctypes.CDLL(CUDA_DRIVER, mode=no_load | os.RTLD_LAZY)
    except OSError:
        return None


def _torch_captures() -> bool:
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return False
    return bool(cuda.is_current_stream_capturing())


def _own_streams_capture(driver: ctypes.CDLL) -> bool:
    from .._tensor import device
    from ..stream import get_raw_stream

    query = getattr(driver, "cuStreamIsCapturing", None)
    count_devices = getattr(driver, "cuDeviceGetCount", None)
    count, status = ctypes.c_int(0), ctypes.c_int(0)
    if query is None or count_devices is None or count_devices(ctypes.byref(count)) != 0:
        return False
    for index in range(count.value):
        stream = get_raw_stream(device("cuda", index))
        # The legacy stream 0 cannot be captured, and a query of it would fail during a capture.
        if stream and query(ctypes.c_void_p(stream), ctypes.byref(status)) == 0:
            is_active = status.value == _ACTIVE
            if is_active:
                return True
    return False
