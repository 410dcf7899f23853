# SPDX-License-Identifier: Apache-2.0
"""Hash functions of the ABI in pure Python: oracles for the cases.

The functions follow sections 10.1, 10.2 and 10.5 of c-abi.md and share no code with a runtime.
"""

from __future__ import annotations

import struct

MASK = 0xFFFFFFFFFFFFFFFF


def combine(k: int, v: int) -> int:
    """Return the combination of two hashes."""
    return k ^ ((v + 0x9E3779B9 + (k << 6) + (k >> 2)) & MASK)


def stable(content: bytes) -> int:
    """Return StableHashBytes."""
    out = 0
    for start in range(0, len(content), 8):
        word = int.from_bytes(content[start : start + 8], "little")
        if len(content) - start >= 8 or start < len(content):
            out = ((out * 1099511628211 + word) & MASK) % 2147483647
    return out


def text(content: bytes) -> int:
    """Return the hash of a string."""
    return combine(65, stable(content))


def binary(content: bytes) -> int:
    """Return the hash of bytes."""
    return combine(66, stable(content))


def plain(index: int, payload: int) -> int:
    """Return the hash of a plain value."""
    return combine(index, payload & MASK)


def floating(value: float) -> int:
    """Return the hash of a float by its bits."""
    return plain(3, struct.unpack("<Q", struct.pack("<d", value))[0])


def key(content: bytes, seed: int = 0xC70F6907) -> int:
    """Return the hash of a type key: 64-bit Murmur2A as in libstdc++."""
    multiplier = 0xC6A4A7935BD1E995

    def mix(value: int) -> int:
        return (value ^ (value >> 47)) & MASK

    out = (seed ^ (len(content) * multiplier)) & MASK
    whole = len(content) & ~7
    for start in range(0, whole, 8):
        word = int.from_bytes(content[start : start + 8], "little")
        out = ((out ^ ((mix((word * multiplier) & MASK) * multiplier) & MASK)) * multiplier) & MASK
    if len(content) > whole:
        out = ((out ^ int.from_bytes(content[whole:], "little")) * multiplier) & MASK
    return mix((mix(out) * multiplier) & MASK)


def fold(type_key: str, elements: list[int]) -> int:
    """Return the structural hash of a sequence from the hashes of its elements."""
    out = combine(key(type_key.encode()), len(elements))
    for each in elements:
        out = combine(out, each)
    return out
