# SPDX-License-Identifier: Apache-2.0
"""Memory of the reference: typed access by address, and a heap with quarantine.

Blocks come from the C allocator. A released block is filled with `POISON` and stays in quarantine
until the end of the scope, so that a later write by native code is noticed and a later read does
not crash.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TypeVar

from tvm_ffi_conformance import abi

POISON = 0x5A

_libc = ctypes.CDLL(None)
_libc.calloc.restype = ctypes.c_void_p
_libc.calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]

POINTER_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # a deleter without a result
S = TypeVar("S", bound=ctypes.Structure)


def at(struct: type[S], address: int) -> S:
    """Return the struct at `address`; writing its fields writes the memory."""
    return struct.from_address(address)


def cell(struct: type[S], handle: int) -> S:
    """Return the struct that follows the header of the object `handle`."""
    # abi-overview.rst, "Exception": the payload is reached by skipping the TVMFFIObject header.
    return struct.from_address(handle + abi.HEADER_SIZE)


def read_pointer(address: int) -> int:
    """Return the pointer stored at `address`; 0 for null."""
    return ctypes.c_void_p.from_address(address).value or 0


def write_pointer(address: int, value: int) -> None:
    """Store a pointer at `address`."""
    ctypes.c_void_p.from_address(address).value = value


def read_int64s(address: int, count: int) -> list[int]:
    """Return `count` int64 values from `address`."""
    return list((ctypes.c_int64 * count).from_address(address)) if count else []


def write_int64s(address: int, values: list[int]) -> None:
    """Store int64 values from `address` on."""
    if values:
        (ctypes.c_int64 * len(values)).from_address(address)[:] = values


def read_c_string(address: int) -> bytes:
    """Return the content of a NUL-terminated string; empty for null."""
    return ctypes.string_at(address) if address else b""


def read_byte_array(array: abi.TVMFFIByteArray) -> bytes:
    """Return the content of a byte array."""
    # c-abi.md, "6.1 Conventions": NUL is not required; data may be null when size is 0.
    return ctypes.string_at(array.data, array.size) if array.size else b""


def text_at(address: int) -> str:
    """Return the text of the `TVMFFIByteArray` at `address`; empty for null."""
    if not address:
        return ""
    return read_byte_array(at(abi.TVMFFIByteArray, address)).decode("utf-8", "replace")


@dataclass
class Block:
    """One allocation."""

    address: int
    size: int
    purpose: str


class Heap:
    """Allocates blocks, and keeps released blocks poisoned in quarantine."""

    def __init__(self) -> None:
        self.blocks: dict[int, Block] = {}
        self.quarantine: dict[int, Block] = {}

    def allocate(self, size: int, purpose: str) -> int:
        """Return the address of a new block, filled with zeros and aligned to 16 bytes."""
        address = _libc.calloc(1, max(size, 1))
        if not address:
            raise MemoryError(f"cannot allocate {size} bytes for {purpose}")
        # Native code may have freed a block of the heap and the C allocator returned it again.
        self.quarantine.pop(address, None)
        self.blocks[address] = Block(address, max(size, 1), purpose)
        return address

    def permanent(self, size: int) -> int:
        """Return the address of zeroed memory that is never released, for process-wide tables."""
        return _libc.calloc(1, size)

    def release(self, address: int) -> bool:
        """Poison a block and put it into quarantine; return False if no such block is live."""
        block = self.blocks.pop(address, None)
        if block is None:
            return False
        ctypes.memset(address, POISON, block.size)
        self.quarantine[address] = block
        return True

    def free_foreign(self, address: int) -> None:
        """Free a block that native code allocated with ``malloc`` or ``operator new``."""
        _libc.free(address)

    def changed(self, block: Block) -> list[int]:
        """Return the offsets of a quarantined block that were written after its release."""
        content = ctypes.string_at(block.address, block.size)
        if content == bytes([POISON]) * block.size:
            return []
        return [offset for offset, byte in enumerate(content) if byte != POISON]

    def drain(self) -> None:
        """Return the memory of all quarantined blocks to the C allocator."""
        for address in self.quarantine:
            _libc.free(address)
        self.quarantine.clear()
