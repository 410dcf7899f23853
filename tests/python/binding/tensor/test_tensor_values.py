# SPDX-License-Identifier: Apache-2.0
"""Values of CPU tensors in Python: `item`, `tolist`, `len`, `repr` and notebook tables."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from forged import Source

import tvm_ffi
from tvm_ffi import printoptions


def tensor_of(array):
    return tvm_ffi.from_dlpack(np.asarray(array))


def of_bytes(content, dtype, shape):
    """Return a tensor of a dtype that NumPy lacks."""
    from tvm_ffi._binding.tensor import tensor_of_content

    return tensor_of_content(bytearray(content), shape, dtype, False)


NUMBERS = {
    "int8": [-128, 127],
    "int64": [-(2**63), 2**63 - 1],
    "uint16": [0, 65535],
    "uint64": [0, 2**64 - 1],
    "bool": [True, False],
    "float16": [0.5, -math.inf],
    "float32": [0.5, 2.0**-149],
    "float64": [0.1, math.inf],
    "complex64": [1 + 2j, -0.5j],
    "complex128": [0.1 + 0.2j, 3.0],
}


@pytest.mark.parametrize(("dtype", "numbers"), NUMBERS.items())
def test_numbers_of_numpys_types(dtype, numbers):
    tensor = tensor_of(np.array(numbers, dtype))
    assert tensor.tolist() == numbers
    assert list(map(type, tensor.tolist())) == [type(np.array(numbers, dtype)[0].item())] * 2
    assert [tensor_of(np.array(number, dtype)).item() for number in numbers] == numbers


# Value of each byte, from the tables of the standards.
SMALL_FLOATS = {
    (7, 8): {0x00: 0.0, 0x30: 1.0, 0x6F: 15.5, 0x70: math.inf, 0x01: 2.0**-6, 0x71: math.nan},
    (8, 8): {0x38: 1.0, 0x77: 240.0, 0x78: math.inf, 0xF8: -math.inf, 0x01: 2.0**-9},
    (9, 8): {0x58: 1.0, 0x80: math.nan, 0x7F: 30.0, 0x00: 0.0},
    (10, 8): {0x38: 1.0, 0x7E: 448.0, 0x7F: math.nan, 0xFF: math.nan, 0xB8: -1.0},
    (11, 8): {0x40: 1.0, 0x7F: 240.0, 0x80: math.nan, 0x01: 2.0**-10},
    (12, 8): {0x3C: 1.0, 0x7B: 57344.0, 0x7C: math.inf, 0x7E: math.nan, 0x01: 2.0**-16},
    (13, 8): {0x40: 1.0, 0x7F: 57344.0, 0x80: math.nan},
    (14, 8): {0x7F: 1.0, 0x00: 2.0**-127, 0xFE: 2.0**127, 0xFF: math.nan},
}


@pytest.mark.parametrize(("code", "bits"), SMALL_FLOATS)
def test_small_floats(code, bits):
    table = SMALL_FLOATS[code, bits]
    numbers = of_bytes(table.keys(), (code, bits, 1), (len(table),)).tolist()
    assert numbers == pytest.approx(list(table.values()), rel=0, nan_ok=True)


@pytest.mark.parametrize(
    "name",
    [
        *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
        *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    ],
)
def test_small_floats_match_ml_dtypes(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = tvm_ffi.dtype(name)
    content = bytes(range(256))
    expected = np.frombuffer(content, getattr(ml_dtypes, name)).astype(np.float64)
    found = of_bytes(content, (dtype.type_code, 8, 1), (256,)).tolist()
    np.testing.assert_array_equal(found, expected)


def test_bfloat16():
    halves = [0x3F80, 0xC000, 0x7F80, 0x0001]  # the upper halves of float32
    tensor = of_bytes(struct.pack("=4H", *halves), (4, 16, 1), (2, 2))
    assert tensor.tolist() == [[1.0, -2.0], [math.inf, 2.0**-133]]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.arange(24).reshape(2, 3, 4)[:, ::-1, ::2], [[[8, 10], [4, 6], [0, 2]],
                                                       [[20, 22], [16, 18], [12, 14]]]),
        (np.broadcast_to(np.array(7), (2, 2)), [[7, 7], [7, 7]]),
        (np.arange(6)[3:], [3, 4, 5]),
        (np.zeros((2, 0, 3)), [[], []]),
        (np.zeros((0, 2)), []),
        (np.array(5), 5),
    ],
    ids=["negative-strides", "broadcast", "offset", "empty-inside", "empty", "scalar"],
)  # fmt: skip
def test_lists_follow_shape_and_strides(array, expected):
    assert tensor_of(array).tolist() == expected


def test_the_byte_offset_is_applied():
    source = Source((2,), (1,), dtype=(2, 32, 1), byte_offset=4)
    tensor = tvm_ffi.from_dlpack(source)
    assert tensor.tolist() == np.from_dlpack(tensor).tolist()


@pytest.mark.parametrize("array", [np.zeros(2), np.zeros(0), np.zeros((2, 1))], ids=str)
def test_item_needs_one_element(array):
    with pytest.raises(ValueError, match=rf"expected a tensor with one element, got {array.size}"):
        tensor_of(array).item()


def test_item_of_one_element_in_many_dimensions():
    assert tensor_of(np.full((1, 1, 1), 2.5)).item() == 2.5


@pytest.mark.parametrize("dtype", [(0, 4, 1), (17, 4, 2), (2, 32, 4), (15, 6, 1)], ids=str)
def test_tolist_refuses_dtypes_without_python_numbers(dtype):
    tensor = of_bytes(bytes(8 * dtype[1] * dtype[2] // 8), dtype, (8,))
    with pytest.raises(TypeError, match="do not convert to Python numbers"):
        tensor.tolist()
    assert repr(tensor) == f"{tensor.dtype}[8]@cpu:0"


def test_values_on_another_device_are_not_read(echo):
    source = Source((3,), (1,), device=(2, 1))
    tensor = echo(source)
    with pytest.raises(TypeError, match="expected a tensor in CPU memory, got one on cuda:1; copy"):
        tensor.tolist()
    assert repr(tensor) == f"{tensor.dtype}[3]@cuda:1"
    del tensor  # before the memory of `source`


# ---- Length --------------------------------------------------------------------------------------


def test_length_is_the_first_extent():
    assert len(tensor_of(np.zeros((3, 2)))) == 3
    assert len(tensor_of(np.zeros((0, 2)))) == 0
    with pytest.raises(TypeError, match="a tensor without dimensions has no len"):
        len(tensor_of(np.zeros(())))


def test_tensors_are_always_true():
    assert tensor_of(np.zeros((0, 2)))
    assert tensor_of(np.zeros(()))


# ---- repr ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([[0.1, 2], [-3, np.nan]], "f"), "float32[2, 2]@cpu:0 [[0.1, 2], [-3, nan]]"),
        (np.array([1 / 3, 1e-20, np.inf]), "float64[3]@cpu:0 [0.333333, 1e-20, inf]"),
        (np.array([True, False]), "bool[2]@cpu:0 [True, False]"),
        (np.array([1 + 2j, -1j], np.complex64), "complex64[2]@cpu:0 [1+2j, -0-1j]"),
        (np.array(7, np.int8), "int8[]@cpu:0 7"),
        (np.array([65504, 0.1], np.float16), "float16[2]@cpu:0 [65504, 0.099976]"),
        (np.zeros((2, 0)), "float64[2, 0]@cpu:0"),
        (np.arange(8)[::-2], "int64[4]@cpu:0 [7, 5, 3, 1]"),
    ],
    ids=["float32", "float64", "bool", "complex", "scalar", "float16", "empty", "strided"],
)  # fmt: skip
def test_repr_shows_the_values(array, text):
    assert repr(tensor_of(array)) == text


def test_long_rows_are_printed_on_separate_lines():
    array = np.arange(30).reshape(3, 10) ** 3
    assert repr(tensor_of(array)) == (
        "int64[3, 10]@cpu:0\n"
        "[[    0,     1,     8,    27,    64,   125,   216,   343,   512,   729],\n"
        " [ 1000,  1331,  1728,  2197,  2744,  3375,  4096,  4913,  5832,  6859],\n"
        " [ 8000,  9261, 10648, 12167, 13824, 15625, 17576, 19683, 21952, 24389]]"
    )


def test_nested_rows_are_indented():
    with printoptions(linewidth=10):
        assert repr(tensor_of(np.arange(8).reshape(2, 2, 2))) == (
            "int64[2, 2, 2]@cpu:0\n[[[0, 1],\n  [2, 3]],\n [[4, 5],\n  [6, 7]]]"
        )


def test_precision_is_an_option():
    with printoptions(precision=3):
        assert repr(tensor_of([1 / 3, 123456.0])) == "float64[2]@cpu:0 [0.333, 1.23e+05]"


def test_many_values_are_not_shown():
    assert repr(tensor_of(np.zeros(1000))).count("0") > 1000
    assert repr(tensor_of(np.zeros(1001))) == "float64[1001]@cpu:0"
    with printoptions(threshold=2):
        assert repr(tensor_of([1, 2, 3])) == "int64[3]@cpu:0"


def test_elements_of_a_tensor_in_a_container_are_not_shown():
    assert repr(tvm_ffi.Array([tensor_of([1, 2])])) == "(int64[2]@cpu:0,)"


def test_tensor_without_memory_shows_no_values(echo):
    source = Source((0,), (1,))
    tensor = echo(source)
    assert repr(tensor) == f"{tensor.dtype}[0]@cpu:0"
    del tensor


def test_repr_of_a_borrowed_tensor_shows_its_values(kernels):
    seen = []
    tvm_ffi.convert_func(lambda x: seen.append(repr(x)))(np.array([1, 2]))
    assert seen == ["int64[2]@cpu:0 [1, 2]"]


# ---- Notebooks -----------------------------------------------------------------------------------


def test_small_matrix_is_a_table():
    assert tensor_of(np.array([[1, 2], [3, 4]]))._repr_html_() == (
        "<table><caption>int64[2, 2]@cpu:0</caption>"
        "<tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>"
    )


@pytest.mark.parametrize(
    "array",
    [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((40, 40)), np.zeros((1, 33)), np.zeros((0, 2))],
    ids=["vector", "3d", "large", "wide", "empty"],
)
def test_other_tensors_are_not_shown_as_tables(array):
    assert tensor_of(array)._repr_html_() is None


def test_tensors_on_another_device_are_not_shown_as_tables(echo):
    source = Source((3, 4), (4, 1), device=(2, 0))
    tensor = echo(source)
    assert tensor._repr_html_() is None
    del tensor  # before the memory of `source`


def test_a_huge_list_of_empty_lists_is_a_memory_error():
    """The lists were created one by one until the memory was exhausted."""
    tensor = tvm_ffi.from_dlpack(Source((2**62, 0), None))
    with pytest.raises(MemoryError):
        tensor.tolist()
    assert tvm_ffi.from_dlpack(Source((3, 0), None)).tolist() == [[], [], []]
