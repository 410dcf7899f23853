# SPDX-License-Identifier: Apache-2.0
"""Tensor arguments of library checks, in memory between pages without access.

A read or write before the first or after the last byte of a buffer ends the process. The content
of a buffer is known, so that writes to inputs are found.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import struct

from .. import abi

PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def guarded(size: int, *, end: bool = True) -> int:
    """Return the address of `size` bytes that end at, or begin after, a page without access."""
    pages = max(1, -(-size // PAGE))
    base = _LIBC.mmap(None, (pages + 2) * PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if base is None or base == ctypes.c_void_p(-1).value:
        raise MemoryError(f"guarded: cannot map {pages + 2} pages")
    _LIBC.mprotect(base + PAGE, pages * PAGE, mmap.PROT_READ | mmap.PROT_WRITE)
    return base + PAGE + (pages * PAGE - size if end else 0)


class Tensor:
    """A DLTensor over guarded memory.

    Parameters
    ----------
    dtype : tuple of int
        Code and bits.
    shape : tuple of int
        Extents.
    gap : int
        Elements between neighbours of the last dimension: 1 is compact.
    offset : int
        Elements before the first one, given as byte_offset.
    lanes : int
        Lanes of the dtype, for a tensor that functions refuse; the memory is that of one lane.
    shift : int
        Bytes that the address of the first element is away from the alignment of its type.
    """

    def __init__(
        self, dtype: tuple[int, int], shape: tuple[int, ...], *, gap: int = 1, offset: int = 0,
        end: bool = True, strides_null: bool = False, reverse: bool = False, shift: int = 0,
        device: int = abi.kDLCPU, lanes: int = 1,
    ) -> None:  # fmt: skip
        self.width, self.extents = dtype[1] // 8, shape
        strides, step = [], gap
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= max(extent, 1)
        if reverse:  # the first dimension is the innermost one
            strides, step = [], gap
            for extent in shape:
                strides.append(step)
                step *= max(extent, 1)
        self.steps = strides
        empty = 0 in shape
        last = 0 if empty else sum((n - 1) * s for n, s in zip(shape, strides)) + 1
        self.size = (last + offset) * self.width
        self.data = guarded(self.size + shift, end=end)
        self.first = self.data + offset * self.width
        self.struct = abi.DLTensor()
        self.struct.data, self.struct.byte_offset = self.data, offset * self.width
        self.struct.device.device_type, self.struct.ndim = device, len(shape)
        self.struct.dtype.code, self.struct.dtype.bits, self.struct.dtype.lanes = *dtype, lanes
        self._shape = (ctypes.c_int64 * max(1, len(shape)))(*shape)
        self._strides = (ctypes.c_int64 * max(1, len(shape)))(*strides)
        self.struct.shape = ctypes.addressof(self._shape)
        self.struct.strides = None if strides_null else ctypes.addressof(self._strides)

    def move(self, count: int) -> None:
        """Move the elements by `count` bytes; the memory must have room."""
        elements = self.elements()
        self.data, self.first = self.data + count, self.first + count
        self.struct.data = self.data
        for element, address in zip(elements, self.addresses()):
            ctypes.memmove(address, element, self.width)

    def view(self) -> abi.TVMFFIAny:
        """Return a DLTensor pointer view."""
        out = abi.TVMFFIAny(abi.kTVMFFIDLTensorPtr)
        out.v_ptr = ctypes.addressof(self.struct)
        return out

    def fill(self, start: int) -> None:
        """Write small numbers that are valid for every element type."""
        for number, address in enumerate(self.addresses()):
            small = (start + number) % 7 + 1
            ctypes.memmove(address, self._element(small), self.width)

    def _element(self, value: int) -> bytes:
        code, bits = self.struct.dtype.code, self.struct.dtype.bits
        if code == abi.kDLFloat:
            return struct.pack({16: "<e", 32: "<f", 64: "<d"}[bits], float(value))
        if code == abi.kDLBfloat:
            return struct.pack("<f", float(value))[2:]
        return (value % 2 if code == abi.kDLBool else value).to_bytes(self.width, "little")

    def addresses(self) -> list[int]:
        """Return the addresses of the elements in row-major order."""
        return [
            self.first + self.width * sum(i * s for i, s in zip(index, self.steps))
            for index in self.indices()
        ]

    def indices(self) -> list[tuple[int, ...]]:
        """Return the indices of the elements in row-major order."""
        return list(itertools.product(*map(range, self.extents)))

    def value(self, element: bytes) -> float:
        """Return the number that the bytes of an element represent."""
        code, bits = self.struct.dtype.code, self.struct.dtype.bits
        if code == abi.kDLFloat:
            return struct.unpack({16: "<e", 32: "<f", 64: "<d"}[bits], element)[0]
        if code == abi.kDLBfloat:
            return struct.unpack("<f", bytes(2) + element)[0]
        return int.from_bytes(element, "little", signed=code == abi.kDLInt)

    def elements(self) -> list[bytes]:
        """Return the elements in row-major order."""
        return [ctypes.string_at(address, self.width) for address in self.addresses()]

    def layout(self) -> str:
        """Return shape, strides and offset for messages."""
        strides = "null" if not self.struct.strides else list(self.steps)
        return (
            f"shape {list(self.extents)}, strides {strides}, byte_offset {self.struct.byte_offset}"
        )

    def content(self) -> bytes:
        """Return all bytes of the buffer, gaps included."""
        return ctypes.string_at(self.data, self.size)
