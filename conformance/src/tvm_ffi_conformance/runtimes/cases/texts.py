# SPDX-License-Identifier: Apache-2.0
"""Cases: strings and bytes, small and on the heap."""

from __future__ import annotations

import ctypes

from ... import abi
from ..case import Topic, equal, expect
from ..subject import Runtime, byte_array, cell, header, strong, text_content
from ..values import bits

strings = Topic("string", "6.3")
binary = Topic("bytes", "6.3")

SMALL = [(f"length_{n}", n) for n in range(8)]
HEAP = [(f"length_{n}", n) for n in (8, 9, 15, 16, 17, 63, 64, 255, 256, 4096, 65536)]
KINDS = (
    (strings, "string", abi.kTVMFFISmallStr, abi.kTVMFFIStr),
    (binary, "bytes", abi.kTVMFFISmallBytes, abi.kTVMFFIBytes),
)
TEXTS = [
    ("two_byte_utf8", "é".encode()),
    ("three_byte_utf8", "€".encode()),
    ("four_byte_utf8", "😀".encode()),
    ("utf8_of_8_bytes", "éééé".encode()),
    ("utf8_of_7_bytes", "éééa".encode()),
    ("nul", b"\0"),
    ("nul_inside_small", b"a\0b"),
    ("nul_inside_heap", b"abcd\0efgh"),
    ("trailing_nul_small", b"abc\0"),
    ("trailing_nul_heap", b"abcdefgh\0"),
    ("seven_nuls", b"\0" * 7),
    ("eight_nuls", b"\0" * 8),
    ("invalid_utf8_small", b"\xff\xfe"),
    ("invalid_utf8_heap", b"\xc3\x28" * 6),
    ("all_byte_values", bytes(range(256))),
]


def content_of(n: int) -> bytes:
    """Return `n` bytes that differ from their neighbours."""
    return bytes((37 * position + 11) % 255 + 1 for position in range(n))


def _register(topic: Topic, make: str, small: int, heap: int) -> None:
    @topic.each(
        "small.{}.bits", SMALL, "A value of at most 7 bytes is stored in the Any, zero-padded."
    )
    def small_bits(runtime: Runtime, n: int) -> None:
        content = content_of(n)
        expected = small.to_bytes(4, "little") + n.to_bytes(4, "little") + content.ljust(8, b"\0")
        equal("the 16 bytes of the Any", bits(getattr(runtime, make)(content)), expected)

    @topic.each("small.{}.overwrites", SMALL, "The result is written completely.", cites="3")
    def small_overwrites(runtime: Runtime, n: int) -> None:
        out = abi.TVMFFIAny()
        ctypes.memset(ctypes.byref(out), 0xAA, 16)
        function = (
            runtime.TVMFFIStringFromByteArray
            if small == abi.kTVMFFISmallStr
            else runtime.TVMFFIBytesFromByteArray
        )
        runtime.check(function(ctypes.byref(byte_array(content_of(n))), ctypes.byref(out)))
        expected = (
            small.to_bytes(4, "little") + n.to_bytes(4, "little") + content_of(n).ljust(8, b"\0")
        )
        equal("the 16 bytes of the Any", bits(out), expected)

    @topic.each("heap.{}.index", HEAP, "A value of 8 bytes or more is a heap object.")
    def heap_index(runtime: Runtime, n: int) -> None:
        value = getattr(runtime, make)(content_of(n))
        equal("type index of the Any", value.type_index, heap)
        equal("padding of the Any", value.zero_padding, 0)
        equal("type index in the header", header(value.v_obj).type_index, heap)

    @topic.each(
        "heap.{}.content", HEAP, "The cell at offset 24 has the address and the size.", cites="8"
    )
    def heap_content(runtime: Runtime, n: int) -> None:
        value = getattr(runtime, make)(content_of(n))
        equal("content", text_content(value), content_of(n))

    @topic.each("heap.{}.terminator", HEAP, "A NUL follows the content.", cites="8")
    def heap_terminator(runtime: Runtime, n: int) -> None:
        content = cell(abi.TVMFFIByteArray, getattr(runtime, make)(content_of(n)).v_obj)
        equal("byte after the content", ctypes.string_at(content.data + n, 1), b"\0")

    @topic.each("heap.{}.one_reference", HEAP[:3], "A new object has one strong and one weak reference.",
                cites="4.2")  # fmt: skip
    def heap_references(runtime: Runtime, n: int) -> None:
        handle = getattr(runtime, make)(content_of(n)).v_obj
        equal("combined count", header(handle).combined_ref_count, abi.REFERENCE_COUNT["Initial"])

    @topic.each(
        "content.{}", TEXTS, "The content is kept as it is, NUL and invalid UTF-8 included."
    )
    def content(runtime: Runtime, text: bytes) -> None:
        value = getattr(runtime, make)(text)
        equal("type index", value.type_index, small if len(text) <= 7 else heap)
        equal("content", text_content(value), text)

    @topic.case("input.null_data", "`data` may be null when `size` is 0.", cites="6.1")
    def null_data(runtime: Runtime) -> None:
        out = abi.TVMFFIAny()
        name = "TVMFFIStringFromByteArray" if make == "string" else "TVMFFIBytesFromByteArray"
        array = byte_array(None)
        runtime.check(getattr(runtime, name)(ctypes.byref(array), ctypes.byref(out)))
        equal("the 16 bytes of the Any", bits(out), small.to_bytes(4, "little") + bytes(12))

    @topic.case(
        "input.copied", "Byte-array arguments are borrowed: the content is copied.", cites="6.1"
    )
    def copied(runtime: Runtime) -> None:
        array = byte_array(b"abcdefghij")
        out = abi.TVMFFIAny()
        name = "TVMFFIStringFromByteArray" if make == "string" else "TVMFFIBytesFromByteArray"
        runtime.check(getattr(runtime, name)(ctypes.byref(array), ctypes.byref(out)))
        ctypes.memset(array.data, 0x58, 10)
        equal("content after the input changed", text_content(out), b"abcdefghij")

    @topic.case("heap.release_frees", "The last release runs the deleter and keeps other objects.",
                cites="4.2")  # fmt: skip
    def release(runtime: Runtime) -> None:
        first, second = (getattr(runtime, make)(b"abcdefgh" * n) for n in (1, 2))
        equal("TVMFFIObjectDecRef", runtime.TVMFFIObjectDecRef(first.v_obj), 0)
        equal("content of the other object", text_content(second), b"abcdefgh" * 2)

    @topic.case("heap.distinct_objects", "Each conversion makes a new object.")
    def distinct(runtime: Runtime) -> None:
        first, second = (getattr(runtime, make)(b"abcdefgh") for _ in range(2))
        expect(first.v_obj != second.v_obj, "expected two objects, got one")
        equal("strong count", strong(first.v_obj), 1)


for _kind in KINDS:
    _register(*_kind)
