# SPDX-License-Identifier: Apache-2.0
"""Encoding and decoding of embedded modules; expected bytes are written from the specification."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvm_ffi._library.embedded_modules import EmbeddedModule, decode, encode, encoded_parts


def u64(*numbers):
    """Return numbers as little-endian 64-bit integers."""
    return b"".join(bytes((n >> shift) & 0xFF for shift in range(0, 64, 8)) for n in numbers)


ONLY_CODE = bytes.fromhex(
    "2c 00 00 00 00 00 00 00"  # 44 bytes follow
    "02 00 00 00 00 00 00 00"  # two row pointers
    "00 00 00 00 00 00 00 00"
    "00 00 00 00 00 00 00 00"
    "00 00 00 00 00 00 00 00"  # no children
    "04 00 00 00 00 00 00 00"  # the kind has 4 bytes
    "5f 6c 69 62"  # _lib, which has no payload
)
# 0 "é" imports 1 and 2; both import 3, the library; 2 has an empty payload.
DIAMOND = bytes.fromhex(
    "9c 00 00 00 00 00 00 00"  # 156 bytes follow
    "05 00 00 00 00 00 00 00"  # five row pointers
    "00 00 00 00 00 00 00 00"
    "02 00 00 00 00 00 00 00"
    "03 00 00 00 00 00 00 00"
    "04 00 00 00 00 00 00 00"
    "04 00 00 00 00 00 00 00"
    "04 00 00 00 00 00 00 00"  # four children
    "01 00 00 00 00 00 00 00"
    "02 00 00 00 00 00 00 00"
    "03 00 00 00 00 00 00 00"
    "03 00 00 00 00 00 00 00"
    "02 00 00 00 00 00 00 00"  # byte 96: the kind of module 0 has two bytes
    "c3 a9"
    "03 00 00 00 00 00 00 00"  # its payload has three
    "00 ff 0a"
    "01 00 00 00 00 00 00 00"
    "78"  # x
    "01 00 00 00 00 00 00 00"
    "79"
    "01 00 00 00 00 00 00 00"
    "78"
    "00 00 00 00 00 00 00 00"
    "04 00 00 00 00 00 00 00"
    "5f 6c 69 62"
)
DIAMOND_MODULES = [
    EmbeddedModule("é", b"\x00\xff\n", (1, 2)),
    EmbeddedModule("x", b"y", (3,)),
    EmbeddedModule("x", b"", (3,)),
    EmbeddedModule("_lib", None, ()),
]
# The library imports x, which imports the library under another index.
TWICE = bytes.fromhex(
    "6a 00 00 00 00 00 00 00"  # 106 bytes follow
    "04 00 00 00 00 00 00 00"
    "00 00 00 00 00 00 00 00"
    "01 00 00 00 00 00 00 00"
    "02 00 00 00 00 00 00 00"
    "02 00 00 00 00 00 00 00"
    "02 00 00 00 00 00 00 00"
    "01 00 00 00 00 00 00 00"
    "02 00 00 00 00 00 00 00"
    "04 00 00 00 00 00 00 00"
    "5f 6c 69 62"
    "01 00 00 00 00 00 00 00"
    "78"
    "01 00 00 00 00 00 00 00"
    "79"
    "04 00 00 00 00 00 00 00"
    "5f 6c 69 62"
)
TWICE_MODULES = [
    EmbeddedModule("_lib", None, (1,)),
    EmbeddedModule("x", b"y", (2,)),
    EmbeddedModule("_lib", None),
]
FIXTURES = pytest.mark.parametrize(
    ("modules", "data"),
    [
        pytest.param([EmbeddedModule("_lib", None)], ONLY_CODE, id="only-code"),
        pytest.param(DIAMOND_MODULES, DIAMOND, id="diamond"),
        pytest.param(TWICE_MODULES, TWICE, id="code-twice"),
    ],
)


@FIXTURES
def test_encode(modules, data):
    assert encode(modules) == data


@FIXTURES
def test_decode(modules, data):
    assert decode(data) == modules


def test_payloads_are_not_copied():
    payload = bytearray(1 << 20)
    parts = encoded_parts([EmbeddedModule("x", payload)])
    assert [part.obj for part in parts if isinstance(part, memoryview)] == [payload]
    data = encode([EmbeddedModule("x", payload)])
    assert decode(data)[0].payload.obj is data


@st.composite
def import_trees(draw):
    """Return modules whose imports are acyclic, in an arbitrary order of indices."""
    count = draw(st.integers(1, 12))
    order = draw(st.permutations(range(count)))
    imports = [()] * count
    for position, module in enumerate(order):
        if later := order[position + 1 :]:
            imports[module] = tuple(draw(st.lists(st.sampled_from(later), max_size=6)))
    library = draw(st.integers(-1, count - 1))
    kinds = st.text(min_size=1, max_size=8).filter(lambda kind: kind != "_lib")
    return [
        EmbeddedModule("_lib", None, imports[i])
        if i == library
        else EmbeddedModule(draw(kinds), draw(st.binary(max_size=20)), imports[i])
        for i in range(count)
    ]


@given(import_trees())
def test_round_trip(modules):
    assert decode(encode(modules)) == modules


@pytest.mark.parametrize("data", [ONLY_CODE, DIAMOND])
def test_every_truncation_is_refused(data):
    for length in range(len(data)):
        with pytest.raises(ValueError, match="library binary: byte"):
            decode(data[:length])
        if length >= 8:  # also with a matching total size
            with pytest.raises(ValueError, match="library binary: byte"):
                decode(u64(length - 8) + data[8:length])


@given(st.binary(max_size=200), st.integers(0, 163), st.integers(0, 255))
def test_damaged_bytes_decode_or_raise_value_error(noise, position, byte):
    damaged = bytearray(DIAMOND)
    damaged[position] = byte
    for data in (bytes(damaged), noise, u64(len(noise)) + noise):
        message = ""
        try:
            modules = decode(data)
        except ValueError as error:
            message = str(error)
        if message:
            assert message.startswith("library binary: ")
        else:
            assert encode(modules) == data


def with_total(*parts):
    body = b"".join(parts)
    return u64(len(body)) + body


LIB = u64(4) + b"_lib"
XY = u64(1) + b"x" + u64(1) + b"y"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(
            b"\x01\x02",
            "byte 0: expected the number of bytes that follow in 8 bytes, got 2 bytes",
            id="no-total",
        ),
        pytest.param(
            ONLY_CODE + b"\0",
            "byte 0: expected 45, the number of bytes that follow, got 44",
            id="more-than-the-total",
        ),
        pytest.param(
            with_total(u64(1 << 63)),
            "byte 8: expected at most 0 row pointer entries, as 0 bytes remain, "
            "got 9223372036854775808",
            id="missing-rows",
        ),
        pytest.param(
            with_total(u64(1, 0, 0)),
            "byte 8: expected at least 2 row pointer entries, got 1",
            id="no-module",
        ),
        pytest.param(
            with_total(u64(0, 0)),
            "byte 8: expected at least 2 row pointer entries, got 0",
            id="no-rows",
        ),
        pytest.param(
            with_total(u64(2, 0, 0, 1 << 40, 0), LIB),
            "byte 32: expected at most 2 child entries, as 20 bytes remain, got 1099511627776",
            id="missing-children",
        ),
        pytest.param(
            with_total(u64(2, 1, 1, 1, 0), LIB),
            "byte 16: expected 0 as row pointer 0, got 1",
            id="first-row",
        ),
        pytest.param(
            with_total(u64(4, 0, 2, 1, 2, 2, 1, 1), LIB, XY, XY),
            "byte 32: expected row pointer 2 from 2 to 2, got 1",
            id="rows-go-back",
        ),
        pytest.param(
            with_total(u64(3, 0, 9, 1, 1, 1), LIB, XY),
            "byte 24: expected row pointer 1 from 0 to 1, got 9",
            id="row-after-the-children",
        ),
        pytest.param(
            with_total(u64(3, 0, 1, 1, 2, 1, 1), LIB, XY),
            "byte 32: expected 2, the number of children, as last row pointer, got 1",
            id="children-without-a-module",
        ),
        pytest.param(
            with_total(u64(3, 0, 1, 1, 1, 2), LIB, XY),
            "byte 48: expected a module below 2 as child 0, got 2",
            id="missing-child",
        ),
        pytest.param(
            with_total(u64(2, 0, 0, 0, 0, 0)),
            "byte 40: expected the length of the kind of module 0, at least 1, got 0",
            id="no-kind",
        ),
        pytest.param(
            with_total(u64(2, 0, 0, 0, 3), b"a\xffb", u64(0)),
            "byte 49: expected UTF-8 in the kind of module 0, got byte 0xff",
            id="kind-not-in-UTF-8",
        ),
        pytest.param(
            with_total(u64(2, 0, 0, 0, 1), b"a", u64(1 << 64 - 1), b"bc"),
            "byte 49: expected the length of the payload of module 0, at most 2, "
            "got 9223372036854775808",
            id="huge-payload",
        ),
        pytest.param(
            with_total(u64(2, 0, 0, 0), LIB, b"abc"),
            "byte 52: expected the end, got 3 more bytes",
            id="bytes-after-the-last-module",
        ),
        pytest.param(
            with_total(u64(2, 0, 1, 1, 0), LIB),
            "modules import in a cycle: 0 -> 0",
            id="imports-itself",
        ),
        pytest.param(
            with_total(u64(4, 0, 1, 2, 3, 3, 1, 2, 1), LIB, XY, XY),
            "modules import in a cycle: 1 -> 2 -> 1",
            id="cycle",
        ),
    ],
)
def test_malformed_binaries_are_refused(data, message):
    with pytest.raises(ValueError, match=f"^library binary: {re.escape(message)}$"):
        decode(data)


def test_counts_take_no_memory():
    data = with_total(u64(1 << 61), bytes(80))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="row pointer"):
            decode(data)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_long_chain_needs_no_recursion():
    chain = [EmbeddedModule("x", b"", (i + 1,)) for i in range(20_000)]
    chain.append(EmbeddedModule("_lib", None))
    assert decode(encode(chain)) == chain
    chain[-1] = EmbeddedModule("_lib", None, (0,))
    with pytest.raises(ValueError, match=r"cycle: 0 -> 1 -> 2 -> 3 -> \.\.\. -> 19999 -> 20000"):
        encode(chain)


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([], "expected at least one module, got none"),
        ([EmbeddedModule("", b"")], "module 0 has an empty kind"),
        (
            [EmbeddedModule("_lib", b"")],
            r"module 0 of kind '_lib' must have no payload, because only",
        ),
        ([EmbeddedModule("x", None)], r"module 0 of kind 'x' must have a payload, because only"),
        (
            [EmbeddedModule("x", b"", (1,))],
            r"module 0 \('x'\) imports module 1, but the number of modules is 1",
        ),
        ([EmbeddedModule("x", b"", (-1,))], "imports module -1"),
        ([EmbeddedModule("x", b"", (0,))], "cycle: 0 -> 0"),
    ],
)
def test_invalid_modules_cannot_be_encoded(modules, message):
    with pytest.raises(ValueError, match=f"^library binary: .*{message}"):
        encode(modules)
