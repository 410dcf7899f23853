# SPDX-License-Identifier: Apache-2.0
"""``__cuda_array_interface__`` version 3: parsing, and the CUDA driver calls that it needs.

The interface is a dict that describes a GPU array without DLPack, such as a Numba device array.
The dict does not contain the device of the array, and reading it does not wait for pending work.
This module asks the CUDA driver for both; the library that created the array has already loaded the
driver.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..._internal.platform import CUDA_DRIVER

__all__ = ["CudaArray", "device_of", "read_interface", "synchronize"]

_INT, _UINT, _FLOAT, _COMPLEX, _BOOL = 0, 1, 2, 5, 6  # DLPack type codes
_CODES = {"i": _INT, "u": _UINT, "f": _FLOAT, "c": _COMPLEX, "b": _BOOL}
_FOREIGN_ORDER = ">" if sys.byteorder == "little" else "<"
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


class CudaArray(NamedTuple):
    """The parsed contents of a ``__cuda_array_interface__`` dict."""

    address: int
    is_read_only: bool
    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Distance between neighbours in each dimension, in elements."""
    stream: int | None
    """Stream with pending writes to the elements; None: no work is pending."""


def read_interface(interface: Any) -> CudaArray:
    """Parse a ``__cuda_array_interface__`` dict.

    Raises
    ------
    TypeError
        If the dict is malformed or has a mask, or if DLPack does not have the element type.
    ValueError
        If a stride is not a multiple of the item size.
    """
    if not isinstance(interface, Mapping):
        raise TypeError(f"__cuda_array_interface__ must be a dict, got {type(interface).__name__}")
    if interface.get("mask") is not None:
        raise TypeError("__cuda_array_interface__: expected no mask, got a masked array")
    try:
        address, is_read_only = interface["data"]
        shape = tuple(int(extent) for extent in interface["shape"])
        code, size_bytes = _element_type(interface["typestr"])
        strides = _strides_in_elements(interface.get("strides"), shape, size_bytes)
    except KeyError as error:
        raise TypeError(f"__cuda_array_interface__ has no entry {error}") from None
    stream = interface.get("stream")
    return CudaArray(
        int(address or 0), bool(is_read_only), code, 8 * size_bytes, shape, strides, stream
    )


def _element_type(typestr: str) -> tuple[int, int]:
    order, kind, size = typestr[:1], typestr[1:2], typestr[2:]
    if kind not in _CODES or not size.isdigit() or int(size) > 16:
        raise TypeError(f"__cuda_array_interface__: DLPack has no dtype for typestr {typestr!r}")
    if order == _FOREIGN_ORDER:
        raise TypeError(
            "__cuda_array_interface__: expected elements in native byte order, got typestr "
            f"{typestr!r}"
        )
    return _CODES[kind], int(size)


def _strides_in_elements(
    strides: tuple[int, ...] | None, shape: tuple[int, ...], size_bytes: int
) -> tuple[int, ...]:
    if strides is None:
        compact: list[int] = []
        step = 1
        for extent in reversed(shape):
            compact.append(step)
            step *= max(extent, 1)
        return tuple(reversed(compact))
    if len(strides) != len(shape):
        raise ValueError(
            f"__cuda_array_interface__: expected {len(shape)} strides for shape {shape}, "
            f"got {strides}"
        )
    for dim, stride in enumerate(strides):
        if stride % size_bytes != 0 and shape[dim] > 1:
            raise ValueError(
                f"__cuda_array_interface__: strides[{dim}] must be a multiple of the item size of "
                f"{size_bytes} bytes, got {stride} bytes"
            )
    return tuple(stride // size_bytes for stride in strides)


# ---- CUDA driver -------------------------------------------------------------------------------


@functools.cache
def _driver() -> Any:
    try:
        return ctypes.CDLL(CUDA_DRIVER)
    except OSError:
        return None


def device_of(address: int) -> int:
    """Return the id of the CUDA device that owns an address; 0 if the address is unknown."""
    ordinal = ctypes.c_int(0)
    get_attribute = getattr(_driver(), "cuPointerGetAttribute", None)
    if get_attribute is None or not address:
        return 0
    status = get_attribute(ctypes.byref(ordinal), _DEVICE_ORDINAL, ctypes.c_uint64(address))
    return ordinal.value if status == 0 else 0


def synchronize(stream: int) -> None:
    """Wait until the pending work of a CUDA stream has finished.

    Raises
    ------
    RuntimeError
        If the driver is not installed or reports an error.
    """
    stream_synchronize = getattr(_driver(), "cuStreamSynchronize", None)
    status = -1 if stream_synchronize is None else stream_synchronize(ctypes.c_void_p(stream))
    if status != 0:
        reason = "there is no CUDA driver" if stream_synchronize is None else f"CUDA error {status}"
        raise RuntimeError(f"cannot synchronize the stream {stream:#x} of an array: {reason}")
