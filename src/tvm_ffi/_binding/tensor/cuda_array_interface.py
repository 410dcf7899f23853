# SPDX-License-Identifier: Apache-2.0
"""``__cuda_array_interface__``, version 3: how arrays on a GPU are described that have no DLPack.

Numba's device arrays are the best known.  The interface does not say on which device an array
lies, nor waits for anything: the CUDA driver does both, which the array's owner has loaded.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["CudaArray", "device_of", "read_interface", "wait_for"]

_INT, _UINT, _FLOAT, _COMPLEX, _BOOL = 0, 1, 2, 5, 6  # DLPack's codes
_CODES = {"i": _INT, "u": _UINT, "f": _FLOAT, "c": _COMPLEX, "b": _BOOL}
_FOREIGN_ORDER = ">" if sys.byteorder == "little" else "<"
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


class CudaArray(NamedTuple):
    """What the interface says."""

    address: int
    is_read_only: bool
    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    stream: int | None
    """On which the values are worked on; None: they are ready."""


def read_interface(interface: Any) -> CudaArray:
    """Read the interface of an array.

    Raises
    ------
    TypeError
        If it is none, has a mask, or elements without a DLPack form.
    ValueError
        If its strides are no multiples of the size of an element.
    """
    if not isinstance(interface, Mapping):
        raise TypeError(f"__cuda_array_interface__ must be a dict, got {type(interface).__name__}")
    if interface.get("mask") is not None:
        raise TypeError("a tensor cannot say which elements of a masked array are masked")
    try:
        address, is_read_only = interface["data"]
        shape = tuple(int(extent) for extent in interface["shape"])
        code, size_bytes = _element_type(interface["typestr"])
        strides = _strides_in_elements(interface.get("strides"), shape, size_bytes)
    except KeyError as error:
        raise TypeError(f"__cuda_array_interface__ has no {error}") from None
    stream = interface.get("stream")
    return CudaArray(
        int(address or 0), bool(is_read_only), code, 8 * size_bytes, shape, strides, stream
    )


def _element_type(typestr: str) -> tuple[int, int]:
    order, kind, size = typestr[:1], typestr[1:2], typestr[2:]
    if kind not in _CODES or not size.isdigit() or int(size) > 16:
        raise TypeError(f"elements of type {typestr!r} have no DLPack form")
    if order == _FOREIGN_ORDER:
        raise TypeError(f"elements must be in native byte order, got {typestr!r}")
    return _CODES[kind], int(size)


def _strides_in_elements(
    strides: tuple[int, ...] | None, shape: tuple[int, ...], size_bytes: int
) -> tuple[int, ...]:
    if strides is None:
        made: list[int] = []
        step = 1
        for extent in reversed(shape):
            made.append(step)
            step *= max(extent, 1)
        return tuple(reversed(made))
    if len(strides) != len(shape):
        raise ValueError(f"strides {strides} are not as many as the extents of {shape}")
    for dim, stride in enumerate(strides):
        if stride % size_bytes != 0 and shape[dim] > 1:
            raise ValueError(
                f"strides[{dim}] is {stride} bytes, which is no multiple of {size_bytes}, the size "
                "of an element"
            )
    return tuple(stride // size_bytes for stride in strides)


# ---- the driver --------------------------------------------------------------------------------


@functools.cache
def _driver() -> Any:
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


def device_of(address: int) -> int:
    """Return the index of the device whose memory an address is; 0 where nobody knows."""
    ordinal = ctypes.c_int(0)
    ask = getattr(_driver(), "cuPointerGetAttribute", None)
    if ask is None or not address:
        return 0
    status = ask(ctypes.byref(ordinal), _DEVICE_ORDINAL, ctypes.c_uint64(address))
    return ordinal.value if status == 0 else 0


def wait_for(stream: int) -> None:
    """Wait until the work is done that a stream has.

    Raises
    ------
    RuntimeError
        If the driver fails, or is not there.
    """
    synchronize = getattr(_driver(), "cuStreamSynchronize", None)
    status = -1 if synchronize is None else synchronize(ctypes.c_void_p(stream))
    if status != 0:
        why = "there is no CUDA driver" if synchronize is None else f"CUDA error {status}"
        raise RuntimeError(f"cannot wait for the stream {stream:#x} of an array: {why}")
