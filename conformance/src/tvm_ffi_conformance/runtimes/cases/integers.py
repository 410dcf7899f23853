# SPDX-License-Identifier: Apache-2.0
"""Cases: integers of more than 64 bits."""

from __future__ import annotations

import ctypes

from ... import abi
from ..case import Topic, equal
from ..subject import Runtime, big_value, byte_array, header, read_bytes
from ..values import bits, view

big = Topic("bigint", "6.3", since="0.1.14")

VALUES = [
    ("2_pow_63", 2**63), ("minus_2_pow_63_minus_1", -(2**63) - 1), ("2_pow_64_minus_1", 2**64 - 1),
    ("2_pow_64", 2**64), ("minus_2_pow_64", -(2**64)), ("2_pow_100", 2**100),
    ("2_pow_127_minus_1", 2**127 - 1), ("2_pow_127", 2**127), ("minus_2_pow_127", -(2**127)),
    ("2_pow_1000", 2**1000), ("minus_3_pow_200", -(3**200)), ("10_pow_300", 10**300),
]  # fmt: skip


def words_of(value: int) -> int:
    """Return the number of words of the canonical form."""
    return (value if value >= 0 else ~value).bit_length() // 64 + 1


FITTING = [
    ("zero", 0), ("one", 1), ("minus_one", -1), ("int64_max", 2**63 - 1), ("int64_min", -(2**63)),
    ("42", 42),
]  # fmt: skip


@big.each("from_words.{}.content", VALUES, "Words are two's complement, least significant first.")
def content(runtime: Runtime, value: int) -> None:
    out = runtime.big(value)
    equal("type index", out.type_index, abi.kTVMFFIBigInt)
    equal("value", big_value(out.v_obj), value)


@big.each("from_words.{}.word_count", VALUES, "The count at offset 24 is canonical.", cites="8")
def count(runtime: Runtime, value: int) -> None:
    handle = runtime.big(value).v_obj
    expected = words_of(value)
    equal("words", ctypes.c_size_t.from_address(handle + 24).value, expected)


@big.each("from_words.{}.redundant_words", VALUES, "Redundant sign words are dropped.")
def redundant(runtime: Runtime, value: int) -> None:
    handle = runtime.big(value, words_of(value) + 3).v_obj
    equal("words", ctypes.c_size_t.from_address(handle + 24).value, words_of(value))
    equal("value", big_value(handle), value)


@big.each(
    "from_words.{}.header",
    VALUES[:3],
    "The object has the index 78 and one reference.",
    cites="4.2",
)
def new(runtime: Runtime, value: int) -> None:
    handle = runtime.big(value).v_obj
    equal("type index", header(handle).type_index, abi.kTVMFFIBigInt)
    equal("combined count", header(handle).combined_ref_count, abi.REFERENCE_COUNT["Initial"])


@big.each("from_words.{}.plain", FITTING, "A value that fits int64 is a plain Int.", cites="20")
def plain(runtime: Runtime, value: int) -> None:
    equal("the 16 bytes", bits(runtime.big(value)), bits(view(value)))


@big.each("from_words.{}.plain_of_3_words", FITTING, "Redundant words do not make a BigInt.")
def plain_long(runtime: Runtime, value: int) -> None:
    equal("the 16 bytes", bits(runtime.big(value, 3)), bits(view(value)))


@big.case("from_words.empty", "Zero words are the integer 0.")
def empty(runtime: Runtime) -> None:
    out = abi.TVMFFIAny()
    runtime.check(
        runtime.TVMFFIBigIntFromByteArray(ctypes.byref(byte_array(None)), ctypes.byref(out))
    )
    equal("the 16 bytes", bits(out), bits(view(0)))


@big.each("from_words.size_{}", [(str(n), n) for n in (1, 4, 7, 9, 15, 17)],
          "A size that is not a multiple of 8 is a ValueError.")  # fmt: skip
def wrong_size(runtime: Runtime, n: int) -> None:
    out = abi.TVMFFIAny()
    with runtime.fails("ValueError"):
        runtime.check(
            runtime.TVMFFIBigIntFromByteArray(
                ctypes.byref(byte_array(b"\1" * n)), ctypes.byref(out)
            )
        )


@big.case("from_words.size_7.output", "`out` is first set to None.")
def wrong_output(runtime: Runtime) -> None:
    out = view(7)
    array = byte_array(b"1234567")
    equal("status", runtime.TVMFFIBigIntFromByteArray(ctypes.byref(array), ctypes.byref(out)), -1)
    equal("type index", out.type_index, abi.kTVMFFINone)


@big.case("from_words.copied", "The words are copied.", cites="6.1")
def copied(runtime: Runtime) -> None:
    array = byte_array((2**100).to_bytes(16, "little"))
    out = abi.TVMFFIAny()
    runtime.check(runtime.TVMFFIBigIntFromByteArray(ctypes.byref(array), ctypes.byref(out)))
    ctypes.memset(array.data, 0x7F, 16)
    equal("value", big_value(out.v_obj), 2**100)


@big.each("content.{}", VALUES, "The content is the words of the object, at offset 32.")
def get(runtime: Runtime, value: int) -> None:
    out = runtime.big(value)
    array = runtime.TVMFFIBigIntGetContentByteArray(ctypes.byref(out))
    equal("address", array.data, out.v_obj + 32)
    equal("value", int.from_bytes(read_bytes(array), "little", signed=True), value)


@big.each("content.{}", FITTING, "The content of an Int is the 8 bytes of its payload.")
def get_plain(runtime: Runtime, value: int) -> None:
    out = view(value)
    array = runtime.TVMFFIBigIntGetContentByteArray(ctypes.byref(out))
    equal("address", array.data, ctypes.addressof(out) + 8)
    equal("content", read_bytes(array), value.to_bytes(8, "little", signed=True))
