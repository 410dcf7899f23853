# SPDX-License-Identifier: Apache-2.0
"""Conversion of Python values to native ones, rule by rule in order of precedence."""

from __future__ import annotations

import ctypes
import decimal
import enum
import fractions
import types
from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core

INT, BOOL, FLOAT, POINTER, DTYPE, DEVICE = 1, 2, 3, 4, 5, 6
SMALL_STR, STR, BYTES, ERROR, FUNCTION, SHAPE, TENSOR = 11, 65, 66, 67, 68, 69, 70
ARRAY, MAP, OPAQUE, BIG_INT = 71, 72, 74, 78

Pair = namedtuple("Pair", "a b")


def having(**members):
    """Return a value of a new class with these members; functions receive the value."""
    return type("Having", (), members)()


def answering(**answers):
    """Return a value of a new class whose methods return the given results."""
    return having(**{name: lambda self, answer=answer: answer for name, answer in answers.items()})


class CallableError(Exception):
    def __call__(self):
        return 3


class CallableValue:
    """A callable that also implements protocols with lower precedence."""

    def __call__(self):
        return 5

    def __tvm_ffi_int__(self):
        return 6

    def __tvm_ffi_value__(self):
        return 7


class Level(enum.IntEnum):
    HIGH = 7


class Flag(enum.IntFlag):
    A = 1
    B = 2


class Weight(float, enum.Enum):
    HALF = 0.5


@pytest.mark.parametrize(
    ("value", "index", "result"),
    [
        pytest.param(np.bool_(True), BOOL, True, id="numpy-bool"),
        pytest.param(Level.HIGH, INT, 7, id="int-enum"),
        pytest.param(Flag.A | Flag.B, INT, 3, id="int-flag"),
        pytest.param(Weight.HALF, FLOAT, 0.5, id="float-enum"),
        pytest.param(np.uint64(2**64 - 1), BIG_INT, 2**64 - 1, id="numpy-uint64"),
        pytest.param(np.float16(1.5), FLOAT, 1.5, id="numpy-float16"),
        pytest.param(np.longdouble(1.5), FLOAT, 1.5, id="numpy-longdouble"),
        pytest.param(fractions.Fraction(1, 4), FLOAT, 0.25, id="fraction"),
        pytest.param(np.str_("a numpy text"), STR, "a numpy text", id="numpy-str"),
        pytest.param(np.bytes_(b"numpy bytes"), BYTES, b"numpy bytes", id="numpy-bytes"),
        pytest.param(answering(__tvm_ffi_int__=2**70), BIG_INT, 2**70, id="int-protocol-big"),
        pytest.param(answering(__tvm_ffi_int__=np.int8(5)), INT, 5, id="int-protocol-numpy"),
        pytest.param(answering(__tvm_ffi_int__=True), INT, 1, id="int-protocol-bool"),
        pytest.param(answering(__tvm_ffi_float__=2), FLOAT, 2.0, id="float-protocol-int"),
        pytest.param(answering(__tvm_ffi_value__=None), 0, None, id="value-protocol-none"),
        pytest.param(
            answering(__dlpack_device__=(tvm_ffi.DLDeviceType.kDLCUDA, 1)),
            DEVICE,
            tvm_ffi.device("cuda:1"),
            id="device-protocol-enum",
        ),
    ],
)
def test_values_convert_to_the_documented_type_and_value(kernels, echo, value, index, result):
    assert kernels.type_index(value) == index
    assert echo(value) == result
    assert type(echo(value)) is type(result)


@pytest.mark.parametrize(
    ("value", "index"),
    [
        pytest.param(Pair(1, 2), ARRAY, id="namedtuple"),
        pytest.param(OrderedDict(a=1), MAP, id="ordered-dict"),
        pytest.param(defaultdict(int, a=1), MAP, id="defaultdict"),
        pytest.param(Counter("aab"), MAP, id="counter"),
        pytest.param(ValueError("x"), ERROR, id="exception"),
        pytest.param(CallableError("x"), FUNCTION, id="callable-exception"),
        pytest.param(CallableValue(), FUNCTION, id="callable-with-protocols"),
        pytest.param(int, FUNCTION, id="class"),
        pytest.param(np.float32, FUNCTION, id="numpy-scalar-class"),
    ],
)
def test_values_convert_to_the_documented_type(kernels, value, index):
    assert kernels.type_index(value) == index


@pytest.mark.parametrize(
    "value",
    [
        1j,
        np.complex64(1j),
        decimal.Decimal("1.5"),
        {1},
        frozenset([1]),
        range(3),
        deque([1]),
        types.MappingProxyType({}),
        UserDict({1: 2}),
        datetime(2020, 1, 1),
        Path("/a"),
        ...,
        slice(1, 2),
        KeyboardInterrupt(),
        enum.Enum("Plain", "A").A,
        np.datetime64("2020-01-01"),
        ctypes.c_int(5),
        ctypes.c_double(2.5),
        ctypes.pointer(ctypes.c_int(5)),
        (ctypes.c_int * 3)(1, 2, 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_passed_as_opaque_objects(kernels, echo, value):
    assert kernels.type_index(value) == OPAQUE
    assert echo(value) is value


def test_numpy_timedelta_is_a_type_error(echo):
    with pytest.raises(TypeError, match=r"int\(\) argument must be"):
        echo(np.timedelta64(5, "D"))


# ---- pointers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "address"),
    [((0, 77), 77), ((0, 77, "more"), 77), ((0, -1), 2**64 - 1), ((0, np.int64(5)), 5)],
    ids=str,
)
def test_cuda_stream_is_the_second_element_of_a_tuple(echo, answer, address):
    assert echo(answering(__cuda_stream__=answer)).value == address


@pytest.mark.parametrize(
    ("answer", "error"),
    [([0, 77], TypeError), ((0,), TypeError), ((0, 1.0), TypeError), ((0, 2**64), OverflowError)],
    ids=str,
)
def test_an_invalid_cuda_stream_is_refused(echo, answer, error):
    with pytest.raises(error, match="."):
        echo(answering(__cuda_stream__=answer))


def test_stream_of_the_cuda_driver_package_is_a_pointer(kernels, echo):
    """The test uses a class with the name and module of the real one, which needs a driver."""
    stream = type(
        "CUstream", (), {"__module__": "cuda.bindings.driver", "__int__": lambda self: 77}
    )
    assert kernels.type_index(stream()) == POINTER
    assert echo(type("Derived", (stream,), {})()).value == 77


def test_handlers_make_pointers_of_other_classes(kernels, echo):
    handled = type("Handled", (), {})
    core._OPAQUE_PTR_HANDLERS[handled] = lambda value: value.address
    try:
        value = handled()
        value.address = 123
        assert kernels.type_index(value) == POINTER
        assert echo(value).value == 123
        value.address = -1
        assert echo(value).value == 2**64 - 1
        value.address = "nowhere"
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            echo(value)
        derived = type("Derived", (handled,), {})()
        assert echo(derived) is derived  # only the exact class counts, not its subclasses
    finally:
        del core._OPAQUE_PTR_HANDLERS[handled]


# ---- ObjectConvertible and the value protocol ----------------------------------------------------


class Convertible(tvm_ffi.ObjectConvertible):
    def __init__(self, value):
        self.value = value

    def asobject(self):
        return self.value


def test_convertible_is_passed_as_its_object(echo):
    array = tvm_ffi.Array([1, 2])
    assert echo(Convertible(array)).same_as(array)
    assert tvm_ffi.convert(Convertible(array)) is array
    assert echo([Convertible(array)])[0].same_as(array)


@pytest.mark.parametrize("value", [5, "a text on the heap", [1, 2], None], ids=str)
def test_asobject_may_return_any_value(echo, value):
    assert echo(Convertible(Convertible(value))) == value


def test_asobject_that_returns_itself_is_an_error(echo):
    value = Convertible(None)
    value.value = value
    with pytest.raises(
        RecursionError, match=r"asobject\(\): the result of 64 successive value protocol"
    ):
        echo(value)
    value.value = None


def test_convertible_without_asobject_is_an_error(echo):
    with pytest.raises(NotImplementedError, match=r"asobject\(\)"):
        echo(tvm_ffi.ObjectConvertible())
    assert core.ObjectConvertible is tvm_ffi.ObjectConvertible


def test_other_protocols_take_precedence_over_asobject(kernels, echo):
    cls = type("Both", (tvm_ffi.ObjectConvertible,), {"__tvm_ffi_int__": lambda self: 5})
    assert echo(cls()) == 5


def test_the_result_of_the_value_protocol_is_converted_by_the_same_rules(echo):
    """An instance of an int subclass is passed as an int even if it has the value protocol."""
    number = type("Number", (int,), {"__tvm_ffi_value__": lambda self: 99})
    assert echo(number(3)) == 3
    assert echo(answering(__tvm_ffi_value__=number(3))) == 3
    assert echo(answering(__tvm_ffi_value__=answering(__tvm_ffi_value__="inside"))) == "inside"


def test_results_of_the_value_protocol_live_as_long_as_the_call(kernels):
    def last_of(value):
        return kernels.last(1, value, answering(__tvm_ffi_value__=["x" * 20]))

    assert last_of(answering(__tvm_ffi_value__=np.zeros(3)))[0] == "x" * 20


# ---- convert -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        5,
        True,
        1.5,
        1j,
        decimal.Decimal(1),
        np.float32(1),
        np.bool_(True),
        "text",
        b"bytes",
        None,
        ctypes.c_void_p(16),
        tvm_ffi.dtype("i8"),
        tvm_ffi.device("cpu"),
        core.DataType("int8"),
        tvm_ffi.Shape((1,)),
        core.String("text"),
        tvm_ffi.Array([1]),
        tvm_ffi.convert(len),
        tvm_ffi.from_dlpack(np.zeros(1)),
        core.Error("ValueError", "m", ""),
        core.ObjectRValueRef(tvm_ffi.Array([])),
        answering(__cuda_stream__=(0, 1)),
        answering(__tvm_ffi_opaque_ptr__=1),
        answering(__tvm_ffi_int__=1),
        answering(__tvm_ffi_float__=1.0),
        answering(__dlpack_device__=(1, 0)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_convert_returns_ffi_values_unchanged(value):
    assert tvm_ffi.convert(value) is value


def test_convert_converts_python_values():
    torch = pytest.importorskip("torch")
    assert tvm_ffi.convert(bytearray(b"abc")) == b"abc"
    assert tvm_ffi.convert((1, [2])) == [1, [2]]
    assert tvm_ffi.convert({"a": 1})["a"] == 1
    assert repr(tvm_ffi.convert(np.dtype("float32"))) == "dtype('float32')"
    assert repr(tvm_ffi.convert(torch.bfloat16)) == "dtype('bfloat16')"
    assert repr(tvm_ffi.convert(torch.float4_e2m1fn_x2)) == "dtype('float4_e2m1fnx2')"
    assert tvm_ffi.convert(answering(__dlpack_data_type__=(2, 32, 4))) == "float32x4"
    assert type(tvm_ffi.convert(np.zeros(2))) is tvm_ffi.Tensor
    assert type(tvm_ffi.convert(ValueError("a"))) is core.Error
    assert type(tvm_ffi.convert(CallableError("a"))) is tvm_ffi.Function
    assert type(tvm_ffi.convert({1, 2})) is core.OpaquePyObject
    assert tvm_ffi.convert(answering(__tvm_ffi_object__=tvm_ffi.Array([1]))) == [1]


@pytest.mark.parametrize("name", ["datetime64[s]", "object", "S5", ">f4"])
def test_convert_of_an_unsupported_dtype_is_a_value_error(name):
    with pytest.raises(ValueError, match="dtype"):
        tvm_ffi.convert(np.dtype(name))
