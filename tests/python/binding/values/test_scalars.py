# SPDX-License-Identifier: Apache-2.0
"""None, numbers, pointers, conversion protocols, opaque objects and moved objects."""

from __future__ import annotations

import collections
import ctypes
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tvm_ffi
from tvm_ffi import core

NONE, INT, BOOL, FLOAT, POINTER = 0, 1, 2, 3, 4
OPAQUE, BIG_INT = 74, 78


class Color(enum.IntEnum):
    """An int with a name."""

    RED = 3


class IntSubclass(int):
    """A subclass of int."""


class FloatSubclass(float):
    """A subclass of float."""


class Indexed:
    """A class that has only ``__index__``; its instances are not converted to an int."""

    def __index__(self):
        return 5


# ---- None, bool, int, float --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "index", "payload"),
    [
        (None, NONE, 0),
        (False, BOOL, 0),
        (True, BOOL, 1),
        (0, INT, 0),
        (1, INT, 1),
        (-1, INT, -1),
        (2**63 - 1, INT, 2**63 - 1),
        (-(2**63), INT, -(2**63)),
        (Color.RED, INT, 3),
        (IntSubclass(-7), INT, -7),
        (1.0, FLOAT, 0x3FF0000000000000),
        (-0.0, FLOAT, -(2**63)),
        (FloatSubclass(1.0), FLOAT, 0x3FF0000000000000),
        (fractions.Fraction(1, 1), FLOAT, 0x3FF0000000000000),
        (ctypes.c_void_p(), POINTER, 0),
        (ctypes.c_void_p(0x10), POINTER, 0x10),
    ],
    ids=repr,
)
def test_values_have_the_documented_type_index_and_payload(kernels, value, index, payload):
    assert kernels.type_index(value) == index
    assert kernels.payload(value) == payload
    assert kernels.padding(value) == 0


@pytest.mark.parametrize(
    ("value", "cls"),
    [
        (None, type(None)),
        (True, bool),
        (7, int),
        (1.5, float),
        (Color.RED, int),
        (IntSubclass(3), int),
        (FloatSubclass(0.5), float),
        (2**70, int),
    ],
    ids=repr,
)
def test_subclasses_are_returned_as_the_plain_class(echo, value, cls):
    assert echo(value) == value
    assert type(echo(value)) is cls


def test_function_without_a_result_returns_none(kernels):
    assert kernels.noop() is None


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64, 10**100, -(10**100)], ids=str)
def test_int_beyond_64_bits_is_a_big_int(kernels, echo, value):
    assert kernels.type_index(value) == BIG_INT
    assert echo(value) == value


def test_a_small_result_of_big_int_arithmetic_is_an_int(kernels):
    assert kernels.type_index(2**70 - 2**70 + 5) == INT


@given(st.integers() | st.integers(-(2**66), 2**66) | st.integers(-(2**2000), 2**2000))
def test_ints_of_any_size_round_trip(echo, value):
    assert echo(value) == value


@given(st.integers(0, 2**64 - 1))
def test_floats_round_trip_bit_by_bit(echo, bits):
    packed = struct.pack("<Q", bits)
    (value,) = struct.unpack("<d", packed)
    assert struct.pack("<d", echo(value)) == struct.pack("<d", value)


@pytest.mark.parametrize("bits", [0x7FF8000000000001, 0xFFF8DEADBEEF0000])
def test_nan_keeps_its_payload(kernels, bits):
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    assert math.isnan(value)
    assert kernels.payload(value) % 2**64 == bits


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
)


@given(st.lists(SCALARS, max_size=20))
def test_the_last_of_many_arguments_is_returned(kernels, values):
    assert kernels.last(None, *values) == [None, *values][-1]


# ---- pointers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [1, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 2**64 - 1])
def test_pointers_round_trip(echo, address):
    pointer = echo(ctypes.c_void_p(address))
    assert type(pointer) is ctypes.c_void_p
    assert pointer.value == address


def test_null_pointers_round_trip(echo):
    assert echo(ctypes.c_void_p(None)).value is None


def test_subclass_of_c_void_p_is_a_pointer(kernels):
    class Handle(ctypes.c_void_p):
        pass

    assert kernels.payload(Handle(0x20)) == 0x20


# ---- protocols of classes ----------------------------------------------------------------------


def with_method(name, answer):
    return type("Foreign", (), {name: lambda self: answer})()


@pytest.mark.parametrize(
    ("answer", "payload"), [(0, 0), (0x77, 0x77), (-1, -1), (2**63, -(2**63)), (2**64 - 1, -1)]
)
def test_opaque_pointer_protocol(kernels, answer, payload):
    value = with_method("__tvm_ffi_opaque_ptr__", answer)
    assert (kernels.type_index(value), kernels.payload(value)) == (POINTER, payload)


@pytest.mark.parametrize(
    ("answer", "error"), [(2**64, OverflowError), (ctypes.c_void_p(1), TypeError), ("x", TypeError)]
)
def test_an_invalid_result_of_the_opaque_pointer_protocol_is_refused(kernels, answer, error):
    with pytest.raises(error, match="argument #0 when calling `count`"):
        kernels.count(with_method("__tvm_ffi_opaque_ptr__", answer))


def test_cuda_stream_protocol(kernels):
    value = with_method("__cuda_stream__", (0, 0x1234))
    assert (kernels.type_index(value), kernels.payload(value)) == (POINTER, 0x1234)


@pytest.mark.parametrize("answer", [[0, 1], (1,), 5, None], ids=repr)
def test_an_invalid_result_of_the_cuda_stream_protocol_is_refused(kernels, answer):
    with pytest.raises(TypeError, match=r"__cuda_stream__\(\) must return a tuple"):
        kernels.count(with_method("__cuda_stream__", answer))


def test_object_protocol(kernels, echo):
    function = tvm_ffi.convert_func(lambda: 6)
    assert echo(with_method("__tvm_ffi_object__", function))() == 6


def test_an_invalid_result_of_the_object_protocol_is_refused(kernels):
    with pytest.raises(TypeError, match=r"__tvm_ffi_object__\(\) must return .* got int"):
        kernels.count(with_method("__tvm_ffi_object__", 5))


def test_an_exception_of_a_protocol_is_raised(kernels):
    class Broken:
        def __tvm_ffi_opaque_ptr__(self):
            raise LookupError("no pointer")

    with pytest.raises(LookupError, match="no pointer"):
        kernels.count(Broken())


@pytest.mark.parametrize(
    ("method", "answer", "index"),
    [
        ("__tvm_ffi_int__", 5, INT),
        ("__tvm_ffi_int__", 2**64, BIG_INT),
        ("__tvm_ffi_float__", 0.5, FLOAT),
        ("__tvm_ffi_value__", "text", 11),
        ("__tvm_ffi_value__", 3, INT),
        ("__tvm_ffi_value__", None, NONE),
    ],
)
def test_value_protocols(kernels, echo, method, answer, index):
    value = with_method(method, answer)
    assert kernels.type_index(value) == index
    assert echo(value) == answer


def test_a_value_protocol_that_returns_self_is_an_error(kernels):
    class Loop:
        def __tvm_ffi_value__(self):
            return self

    with pytest.raises((RecursionError, ValueError)):
        kernels.count(Loop())


def test_int_subclass_with_a_protocol_is_an_int(kernels):
    cls = type("Both", (int,), {"__tvm_ffi_value__": lambda self: "text"})
    assert kernels.type_index(cls(4)) == INT


# ---- opaque objects ------------------------------------------------------------------------------

UNTOUCHED = [
    object(),
    1 + 2j,
    decimal.Decimal("1.5"),
    {1, 2},
    frozenset({1}),
    range(3),
    collections.deque([1]),
    datetime.date(2024, 1, 1),
    pathlib.PurePosixPath("/tmp"),
    Indexed(),
    KeyboardInterrupt(),
    NotImplemented,
    ...,
]


@pytest.mark.parametrize("value", UNTOUCHED, ids=lambda value: type(value).__name__)
def test_opaque_objects_are_returned_as_the_same_object(kernels, echo, value):
    assert echo(value) is value
    assert kernels.type_index(value) == OPAQUE


def test_a_plain_enum_member_is_returned_as_the_same_object(echo):
    plain = enum.Enum("Plain", "A B")
    assert echo(plain.A) is plain.A


def test_native_code_keeps_an_opaque_object_alive(kernels):
    value = [object()]
    kernels.keep(frozenset(value))
    assert kernels.kept() == frozenset(value)
    kernels.forget()


# ---- moved objects -----------------------------------------------------------------------------


class Plain(tvm_ffi.Object):
    """A subclass of Object without fields, for objects that are moved."""


def test_object_passed_by_move_is_taken_by_the_callee(kernels):
    function = tvm_ffi.convert_func(lambda: 4)
    taken = kernels.take(core.ObjectRValueRef(function))
    assert taken() == 4
    assert function.__chandle__() == 0
    with pytest.raises(ValueError, match="is empty: its native object was never set, or was"):
        kernels.count(function)


def test_a_moved_object_that_the_callee_does_not_take_stays(kernels):
    function = tvm_ffi.convert_func(lambda: 4)
    kernels.count(core.ObjectRValueRef(function))
    assert function() == 4


def test_moving_an_empty_object_is_a_value_error(kernels):
    with pytest.raises(ValueError, match="is empty"):
        kernels.take(core.ObjectRValueRef(Plain()))


def test_empty_object_as_argument_is_a_value_error(kernels):
    with pytest.raises(ValueError, match=r"argument #1 when calling `count`: Plain is empty"):
        kernels.count(0, Plain())


def test_only_objects_can_be_moved():
    with pytest.raises(TypeError):
        core.ObjectRValueRef(3)


# ---- results that are not allowed --------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "name"), [(8, "RawStr"), (9, "ByteArrayPtr"), (10, "ObjectRValueRef")]
)
@pytest.mark.breaks_rules
def test_borrowed_result_is_a_value_error(kernels, index, name):
    with pytest.raises(ValueError, match=f"Return value cannot be {name}"):
        kernels.return_borrowed(index)


@pytest.mark.breaks_rules
@pytest.mark.parametrize("index", [14, 40, 63, -1, -2])
def test_result_of_an_unknown_type_is_a_value_error(kernels, index):
    with pytest.raises(ValueError, match=rf"unknown type index {index}"):
        kernels.return_borrowed(index)
