# SPDX-License-Identifier: Apache-2.0
"""The fake CUDA driver from Python: recorded calls, kernel arguments, fake device memory.

The dynamic loader must find ``tests/cpp/fake_driver`` first.  Host memory claims to be device
memory, so that Python can do the work of a kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import forged
from forged import DataType, Deleter, Device, Tensor, Versioned

from tvm_ffi.libinfo import load_lib_ctypes

driver = ctypes.CDLL("libcuda.so.1")
_MAX_SIZE = 1 << 24  # number of bytes of one tensor


class Launch(ctypes.Structure):
    """The struct ``FakeLaunch`` of fake_driver.h."""

    _fields_ = (
        ("kernel", ctypes.c_char_p),
        ("device", ctypes.c_int),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("cluster", ctypes.c_uint * 3),
        ("shared_memory_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("params", ctypes.POINTER(ctypes.c_void_p)),
        ("is_cooperative", ctypes.c_int),
        ("is_programmatic", ctypes.c_int),
    )

    def values(self, *types: type[ctypes._SimpleCData]) -> tuple[object, ...]:
        """Return the values of a launch's first kernel parameters, read with these types."""
        return tuple(type_.from_address(self.params[i]).value for i, type_ in enumerate(types))


OnLaunch = ctypes.CFUNCTYPE(None, ctypes.POINTER(Launch), ctypes.c_void_p)


def calls(start: str = "") -> list[str]:
    """Return the driver calls since the last such call whose text starts with a prefix."""
    text = ctypes.create_string_buffer(driver.fake_driver_take_calls(None, 0) + 1)
    driver.fake_driver_take_calls(text, len(text))
    return [line for line in text.value.decode().splitlines() if line.startswith(start)]


@contextmanager
def run_at_launch(function: Callable[[Launch], None]) -> Iterator[None]:
    """Call a Python function at each kernel launch."""
    failures: list[BaseException] = []

    @OnLaunch
    def on_launch(launch, data):
        try:
            function(launch.contents)
        except BaseException as error:  # C code would drop the exception of a callback
            failures.append(error)

    driver.fake_driver_on_launch(on_launch, None)
    try:
        yield
    finally:
        driver.fake_driver_on_launch(None, None)
    for error in failures:
        raise error


def vector(extent: int = 12, device: tuple[int, int] = (2, 0), **options: object) -> forged.Source:
    """Return a tensor of up to 12 float32 numbers 0, 1, ... on a device."""
    return forged.Source((extent,), (1,), device=device, **options)


# ---- the environment's allocator -----------------------------------------------------------------


class Allocator:
    """An allocator whose memory claims to be on the requested device; tracks live allocations."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, ...]] = []
        self.alive: dict[int, tuple[object, ...]] = {}
        self._deleter = Deleter(self._delete)
        api = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.POINTER(Tensor), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        )
        self._function = api(self._allocate)

    def _allocate(self, prototype: object, out: int, context: int, set_error: int) -> int:
        requested = prototype.contents  # type: ignore[attr-defined]
        shape = tuple(requested.shape[i] for i in range(requested.ndim))
        self.requests.append(shape)
        size = requested.dtype.bits // 8
        for extent in shape:
            size *= extent
        if size > _MAX_SIZE:
            return -1
        memory = ctypes.create_string_buffer(max(size, 1))
        extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        managed = Versioned(1, 3, deleter=self._deleter)
        managed.tensor.data = ctypes.addressof(memory)
        managed.tensor.device = Device(requested.device.type, requested.device.id)
        managed.tensor.ndim = requested.ndim
        managed.tensor.dtype = DataType(
            requested.dtype.code, requested.dtype.bits, requested.dtype.lanes
        )
        managed.tensor.shape = extents
        steps = [1] * len(shape)
        for axis in reversed(range(len(shape) - 1)):
            steps[axis] = steps[axis + 1] * shape[axis + 1]
        strides = (ctypes.c_int64 * max(len(shape), 1))(*steps)
        managed.tensor.strides = strides
        self.alive[ctypes.addressof(managed)] = memory, extents, strides, managed
        ctypes.c_void_p.from_address(out).value = ctypes.addressof(managed)
        return 0

    def _delete(self, managed: int) -> None:
        del self.alive[managed]

    def __enter__(self) -> Allocator:
        self._set(ctypes.cast(self._function, ctypes.c_void_p))
        return self

    def __exit__(self, *exception: object) -> None:
        self._set(None)

    def _set(self, function: ctypes.c_void_p | None) -> None:
        library = load_lib_ctypes("pytvmffi", "tvm_ffi", "RTLD_GLOBAL")
        library.TVMFFIEnvSetDLPackManagedTensorAllocator(function, 0, None)
