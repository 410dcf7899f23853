# SPDX-License-Identifier: Apache-2.0
"""Chapter 3, strings, bytes and big integers: small and heap forms."""

from __future__ import annotations

import ctypes

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import at, cell, read_byte_array, read_c_string
from .values import Raised, any_at, write_any

_HEADER_AND_ARRAY = abi.HEADER_SIZE + ctypes.sizeof(abi.TVMFFIByteArray)
_WORD = 8
# Type indices of a string and of bytes, in the small and in the heap form.
TEXT = (abi.kTVMFFISmallStr, abi.kTVMFFIStr)
BYTES = (abi.kTVMFFISmallBytes, abi.kTVMFFIBytes)


class Strings(Chapter):
    """Creates and reads strings, bytes and big integers."""

    def store_text(self, content: bytes, out: int) -> None:
        """Store a string as an owned value."""
        self._store(content, out, *TEXT)

    def store_bytes(self, content: bytes, out: int) -> None:
        """Store bytes as an owned value."""
        self._store(content, out, *BYTES)

    def _store(self, content: bytes, out: int, small: int, heap: int) -> None:
        # abi-overview.rst, "String and Bytes": on-heap objects are for more than 7 characters; the
        # length of a small string is in small_str_len, its content in v_bytes.
        if len(content) <= abi.SMALL_STR_MAX_LEN:
            write_any(out, small, int.from_bytes(content, "little"), len(content))
        else:
            write_any(out, heap, self.new(content, heap))

    def new(self, content: bytes, type_index: int) -> int:
        """Return a new heap string or bytes object."""
        # c-abi.md, "8. In-memory layout of built-in objects": content follows at +40 and ends with
        # a NUL that the size does not count.
        record = self.runtime.objects.new(type_index, _HEADER_AND_ARRAY + len(content) + 1)
        array = cell(abi.TVMFFIByteArray, record.address)
        array.data, array.size = record.address + _HEADER_AND_ARRAY, len(content)
        ctypes.memmove(array.data, content, len(content))
        return record.address

    def read(self, address: int) -> bytes | None:
        """Return the content of the string or bytes value at `address`; None for another type."""
        # abi-overview.rst, "String and Bytes": a string takes several forms, identified by its
        # type_index.  c-abi.md, "20 Traps checklist": short heap strings exist.
        value = any_at(address)
        index = value.type_index
        if index in {abi.kTVMFFISmallStr, abi.kTVMFFISmallBytes}:
            return bytes(value.v_bytes)[: value.small_str_len]
        if index in {abi.kTVMFFIStr, abi.kTVMFFIBytes}:
            return read_byte_array(cell(abi.TVMFFIByteArray, value.v_obj))
        if index == abi.kTVMFFIRawStr:
            return read_c_string(value.v_c_str or 0)
        if index == abi.kTVMFFIByteArrayPtr:
            return read_byte_array(at(abi.TVMFFIByteArray, value.v_ptr))
        return None

    def store_int(self, number: int, out: int) -> None:
        """Store an integer: plain if it fits int64, else as a big integer."""
        # c-abi.md, "6.3 Strings, bytes, integers, dtype": redundant sign words are dropped; a
        # single word is a plain Int.
        words = (number if number >= 0 else ~number).bit_length() // 64 + 1  # one bit is the sign
        if words == 1:
            write_any(out, abi.kTVMFFIInt, number)
            return
        size = abi.HEADER_SIZE + _WORD * (1 + words)
        record = self.runtime.objects.new(abi.kTVMFFIBigInt, size)
        ctypes.c_uint64.from_address(record.address + abi.HEADER_SIZE).value = words
        content = number.to_bytes(_WORD * words, "little", signed=True)
        ctypes.memmove(record.address + abi.HEADER_SIZE + _WORD, content, len(content))
        write_any(out, abi.kTVMFFIBigInt, record.address)

    def big_int_content(self, address: int) -> bytes:
        """Return the words of the big integer object at `address`."""
        words = ctypes.c_uint64.from_address(address + abi.HEADER_SIZE).value
        return ctypes.string_at(address + abi.HEADER_SIZE + _WORD, _WORD * words)

    def TVMFFIStringFromByteArray(self, input_: int, out: int) -> None:
        self.store_text(read_byte_array(at(abi.TVMFFIByteArray, input_)), out)

    def TVMFFIBytesFromByteArray(self, input_: int, out: int) -> None:
        self.store_bytes(read_byte_array(at(abi.TVMFFIByteArray, input_)), out)

    def TVMFFIBigIntFromByteArray(self, input_: int, out: int) -> None:
        # c-abi.md, "6.3 Strings, bytes, integers, dtype": `out` is first set to None; the input is
        # little-endian two's-complement 64-bit words.
        write_any(out, abi.kTVMFFINone)
        content = read_byte_array(at(abi.TVMFFIByteArray, input_))
        if len(content) % _WORD:
            raise Raised("ValueError", f"BigInt: expected whole 8-byte words, got {len(content)}")
        self.store_int(int.from_bytes(content, "little", signed=True), out)

    def TVMFFIBigIntGetContentByteArray(self, value: int, out: int) -> None:
        # c-abi.md, "6.3 Strings, bytes, integers, dtype": for an Int, the payload inside the value;
        # for a BigInt, the words at +32.
        array, source = at(abi.TVMFFIByteArray, out), any_at(value)
        if source.type_index == abi.kTVMFFIBigInt:
            words = ctypes.c_uint64.from_address(source.v_obj + abi.HEADER_SIZE).value
            array.data, array.size = source.v_obj + abi.HEADER_SIZE + _WORD, _WORD * words
        else:
            array.data, array.size = value + 8, _WORD
