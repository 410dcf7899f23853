# SPDX-License-Identifier: Apache-2.0
"""Chapter 8b, hash and equality of values, as Map and Dict use them.

Clients probe maps in place, so every implementation computes the same numbers.
"""

from __future__ import annotations

import ctypes

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .values import MASK64, Raised, any_at

_NATIVE_HASH = ctypes.CFUNCTYPE(abi.TVMFFIAny, ctypes.c_void_p)
_NATIVE_EQUAL = ctypes.CFUNCTYPE(abi.TVMFFIAny, ctypes.c_void_p, ctypes.c_void_p)
_HEAP_FORM = {abi.kTVMFFISmallStr: abi.kTVMFFIStr, abi.kTVMFFISmallBytes: abi.kTVMFFIBytes}


def combine(key: int, value: int) -> int:
    """Return the hash of two hashes."""
    # c-abi.md, "10.1 Primitives".
    mixed = value + 0x9E3779B9 + (key << 6 & MASK64) + (key >> 2)
    return (key ^ mixed) & MASK64


def stable_hash_bytes(content: bytes) -> int:
    """Return the hash of a sequence of bytes."""
    # c-abi.md, "10.1 Primitives": 8-byte little-endian words; the last one is zero-extended.
    result = 0
    for start in range(0, len(content), 8):
        word = int.from_bytes(content[start : start + 8], "little")
        result = ((result * 1099511628211 + word) & MASK64) % 2147483647
    return result


class Hashing(Chapter):
    """AnyHash and AnyEqual."""

    def integer_hash(self, address: int) -> int:
        """Return the hash of a big integer: its hook `__any_hash__`."""
        # c-abi.md, "10.2 AnyHash": StableHashBytes over its words.
        return stable_hash_bytes(self.runtime.strings.big_int_content(any_at(address).v_obj))

    def any_hash(self, address: int) -> int:
        """Return the hash of the value at `address`."""
        # c-abi.md, "10.2 AnyHash": strings by content, with the index of the heap form; objects
        # with a hook by the hook; everything else by the payload bits.
        value = any_at(address)
        index = value.type_index
        heap_form = _HEAP_FORM.get(index, index)
        if heap_form in {abi.kTVMFFIStr, abi.kTVMFFIBytes}:
            return combine(heap_form, stable_hash_bytes(self.runtime.strings.read(address) or b""))
        hook = self.runtime.types.attribute(index, "__any_hash__")
        if hook:
            return combine(index, self._call(hook, _NATIVE_HASH, [address]) & MASK64)
        return combine(index, value.v_uint64)

    def any_equal(self, left: int, right: int) -> bool:
        """Return True if two values are the same key."""
        # c-abi.md, "10.3 AnyEqual": 1. equal bytes; 2. content or hook of the same index; 3. small
        # and heap forms by content.
        a, b = any_at(left), any_at(right)
        if bytes(a) == bytes(b):
            return True
        index = _HEAP_FORM.get(a.type_index, a.type_index)
        if index != _HEAP_FORM.get(b.type_index, b.type_index):
            return False
        if index in {abi.kTVMFFIStr, abi.kTVMFFIBytes}:
            return self.runtime.strings.read(left) == self.runtime.strings.read(right)
        hook = self.runtime.types.attribute(index, "__any_equal__")
        return bool(hook and self._call(hook, _NATIVE_EQUAL, [left, right]))

    def _call(self, hook: int, native: type[ctypes._CFuncPtr], views: list[int]) -> int:
        """Return the integer result of a hook: a native function or a function object."""
        # c-abi.md, "12.3 What the values must be": a native hook takes pointers and returns a value
        # of 16 bytes, which is an Error object if it failed.
        value = any_at(hook)
        if value.type_index == abi.kTVMFFIOpaquePtr:
            result = native(value.v_ptr)(*views)
        else:
            result = self.runtime.functions.call_views(value.v_obj, views)
        if result.type_index == abi.kTVMFFIError:
            kind, message, _ = self.runtime.errors.content(result.v_obj)
            self.runtime.objects.decref(result.v_obj)
            raise Raised(kind, message)
        return result.v_int64
