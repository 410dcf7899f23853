# SPDX-License-Identifier: Apache-2.0
"""Dtypes: parsing, codes, and the dtype objects of other libraries."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import _dtype, core
from tvm_ffi._dtype import DataTypeCode

PLAIN = [
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
]
FLOAT8_FORMATS = (
    "e3m4",
    "e4m3",
    "e4m3b11fnuz",
    "e4m3fn",
    "e4m3fnuz",
    "e5m2",
    "e5m2fnuz",
    "e8m0fnu",
)
FLOAT8 = [f"float8_{form}" for form in FLOAT8_FORMATS]
FLOAT6 = ["float6_e2m3fn", "float6_e3m2fn"]

# dtype text: canonical text, code, bits, lanes
TEXTS = {
    "int32": ("int32", 0, 32, 1),
    "int": ("int32", 0, 32, 1),
    "i8": ("int8", 0, 8, 1),
    "uint1": ("uint1", 1, 1, 1),
    "u16x4": ("uint16x4", 1, 16, 4),
    "float": ("float32", 2, 32, 1),
    "f64": ("float64", 2, 64, 1),
    "float16x2": ("float16x2", 2, 16, 2),
    "handle": ("handle", 3, 64, 1),
    "bfloat16": ("bfloat16", 4, 16, 1),
    "bf16": ("bfloat16", 4, 16, 1),
    "bool": ("bool", 6, 8, 1),
    "float8_e4m3fn": ("float8_e4m3fn", 10, 8, 1),
    "float8_e5m2x4": ("float8_e5m2x4", 12, 8, 4),
    "float6_e2m3fn": ("float6_e2m3fn", 15, 6, 1),
    "float4_e2m1fn": ("float4_e2m1fn", 17, 4, 1),
    "float4_e2m1fnx2": ("float4_e2m1fnx2", 17, 4, 2),
    "float4_e2m1fn_x2": ("float4_e2m1fnx2", 17, 4, 2),
    "int8xvscalex4": ("int8xvscalex4", 0, 8, -4),
    "void": ("", 3, 0, 0),
    "": ("", 3, 0, 0),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.items(), ids=[repr(text) for text in TEXTS])
def test_a_dtype_is_parsed_and_keeps_its_string(echo, text, expected):
    canonical, code, bits, lanes = expected
    dtype = tvm_ffi.dtype(text)
    assert dtype == text
    assert repr(dtype) == f"dtype({text!r})"
    assert (dtype.type_code, dtype.bits, dtype.lanes) == (code, bits, lanes)
    assert echo(dtype) == canonical
    assert type(echo(dtype)) is tvm_ffi.dtype


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zz", "unknown dtype `zz`"),
        ("Float32", "unknown dtype"),
        (" float32", "unknown dtype"),
        ("float32 ", "unknown|Invalid|trailing"),
        ("half", "unknown dtype `half`"),
        ("int256", "Bits value 256 is out of range for uint8_t in dtype 'int256'"),
        ("float32x65536", "Lanes value 65536 is out of range for uint16_t"),
        ("float32x40000", "Lanes value 40000"),
        ("float32x0", "Invalid lanes specification in dtype 'float32x0'"),
        ("float4_zzz", "unknown float4 type"),
        ("float32\0", "unknown|Invalid|trailing"),
        ("\ud800", "unknown dtype"),
    ],
    ids=ascii,
)
def test_an_unknown_dtype_is_a_value_error(text, message):
    with pytest.raises(ValueError, match=message):
        tvm_ffi.dtype(text)


@pytest.mark.parametrize("value", [None, 3, np.float32, object()], ids=lambda v: type(v).__name__)
def test_dtype_of_something_else_is_an_error(value):
    with pytest.raises((TypeError, ValueError)):
        tvm_ffi.dtype(value)


@pytest.mark.parametrize(
    ("text", "itemsize"),
    [("int8", 1), ("float64", 8), ("float32x4", 16), ("float4_e2m1fnx2", 1), ("uint1", 1)],
)
def test_itemsize_is_in_bytes_rounded_up(text, itemsize):
    assert tvm_ffi.dtype(text).itemsize == itemsize
    assert core.DataType(text).itemsize == itemsize


def test_itemsize_of_a_scalable_vector_is_a_value_error():
    with pytest.raises(ValueError, match="Cannot determine itemsize for scalable vector types"):
        tvm_ffi.dtype("int8xvscalex4").itemsize  # noqa: B018


@pytest.mark.parametrize(
    ("text", "truths"),
    [
        ("bool", {"is_bool"}),
        ("int8", {"is_integer"}),
        ("uint64x2", {"is_integer"}),
        ("float16", {"is_float"}),
        ("bfloat16", {"is_float"}),
        ("float8_e3m4", {"is_float"}),
        ("float4_e2m1fn", {"is_float"}),
        ("handle", {"is_handle"}),
    ],
)
def test_predicates(text, truths):
    dtype = tvm_ffi.dtype(text)
    names = ("is_bool", "is_integer", "is_float", "is_handle")
    assert {name for name in names if getattr(dtype, name)} == truths


def test_with_lanes():
    assert tvm_ffi.dtype("float32").with_lanes(4) == "float32x4"
    assert tvm_ffi.dtype("float32x4").with_lanes(1) == "float32"


def test_from_dlpack_data_type():
    assert tvm_ffi.dtype.from_dlpack_data_type((2, 16, 4)) == "float16x4"
    for triple in ((256, 8, 1), (-1, 8, 1), (0, 300, 1), (0, 8, 70000)):
        with pytest.raises(
            OverflowError,
            match="expected a code and bits of 0 to 255 and lanes of -32768 to 32767, got",
        ):
            tvm_ffi.dtype.from_dlpack_data_type(triple)
    with pytest.raises(ValueError, match=r"code"):
        tvm_ffi.dtype.from_dlpack_data_type((99, 8, 1))


def test_is_dtype():
    assert tvm_ffi.dtype.is_dtype("float32")
    assert tvm_ffi.dtype.is_dtype(tvm_ffi.float32)
    assert not tvm_ffi.dtype.is_dtype("zz")
    assert not tvm_ffi.dtype.is_dtype(3)


def test_dtype_pickles_and_copies():
    dtype = tvm_ffi.dtype("f32x2")
    for again in (pickle.loads(pickle.dumps(dtype)), copy.copy(dtype), copy.deepcopy(dtype)):
        assert again == "f32x2"
        assert (again.type_code, again.bits, again.lanes) == (2, 32, 2)


def test_dtype_takes_no_attributes():
    with pytest.raises(AttributeError, match="no attribute 'extra'"):
        tvm_ffi.dtype("int8").extra = 1


def test_numpy_accepts_the_dtypes_that_it_supports():
    assert np.dtype(tvm_ffi.float32) == np.float32
    assert np.zeros(2, tvm_ffi.dtype("int16")).dtype == np.int16


def test_constants_are_dtypes():
    names = [*PLAIN, "bfloat16", *FLOAT8, *FLOAT6, "float4_e2m1fn", "float4_e2m1fnx2"]
    for name in names:
        assert isinstance(getattr(tvm_ffi, name), tvm_ffi.dtype)
        assert getattr(tvm_ffi, name) == name


def test_type_codes_match_dlpack():
    codes = {code.name: int(code) for code in DataTypeCode}
    assert (codes["INT"], codes["BFLOAT"], codes["BOOL"], codes["Float4E2M1FN"]) == (0, 4, 6, 17)
    assert 5 not in codes.values()


def test_codes_used_by_properties_match_the_enumeration():
    """The dtype codes are defined twice, because few programs import the enumeration."""
    names = ("INT", "UINT", "FLOAT", "HANDLE", "BFLOAT", "BOOL", "Float8E3M4")
    codes = (_dtype._INT, _dtype._UINT, _dtype._FLOAT, _dtype._HANDLE, _dtype._BFLOAT, _dtype._BOOL)
    assert (*codes, _dtype._FIRST_OF_FEW_BITS) == tuple(DataTypeCode[name] for name in names)


# ---- the low-level value -------------------------------------------------------------------------


def test_data_type_compares_and_hashes_by_value():
    assert core.DataType("i8") == core.DataType("int8")
    assert core.DataType("int8") != core.DataType("int8x2")
    assert core.DataType("int8") != "int8"
    assert len({core.DataType("i8"), core.DataType("int8"), core.DataType("int16")}) == 2
    assert str(core.DataType("i8")) == "int8"
    assert pickle.loads(pickle.dumps(core.DataType("i8x4"))) == core.DataType("int8x4")


def test_reinitializing_a_data_type_raises():
    """Regression: code could change the dtype object that all float32 tensors share."""
    shown = tvm_ffi.from_dlpack(np.zeros(4, np.float32)).dtype
    for value in (shown._tvm_ffi_dtype, core.DataType("int8"), copy.copy(core.DataType("int8"))):
        before = str(value)
        with pytest.raises(TypeError, match="a DataType is immutable; create another DataType"):
            value.__init__("float64")
        assert str(value) == before
    assert tvm_ffi.from_dlpack(np.zeros(4, np.float32)).dtype == "float32"


def test_element_sizes_come_from_the_native_tensor():
    tensor = tvm_ffi.from_dlpack(np.arange(4, dtype=np.float32))
    own = tensor.dtype._tvm_ffi_dtype
    tensor.dtype._tvm_ffi_dtype = core.DataType("float64")
    try:
        assert tensor.numpy().tolist() == [0, 1, 2, 3]
        assert tensor.tolist() == [0, 1, 2, 3]
    finally:
        tensor.dtype._tvm_ffi_dtype = own


def test_data_type_is_passed_as_a_dtype(echo):
    assert echo(core.DataType("i8")) == "int8"


def test_a_data_type_must_be_made_from_a_string():
    with pytest.raises((TypeError, AttributeError)):
        core.DataType(3)


# ---- complex -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "bits"), [("complex64", 64), ("complex128", 128)])
def test_complex_tensors_have_a_dtype(echo, name, bits):
    dtype = echo(np.zeros(2, name)).dtype
    assert dtype == name
    assert (dtype.type_code, dtype.bits, dtype.lanes) == (5, bits, 1)
    assert dtype.itemsize == bits // 8
    assert echo(np.dtype(name)) == name


# ---- dtype objects of other libraries ------------------------------------------------------------


@pytest.mark.parametrize("name", PLAIN)
def test_numpy_dtype_is_passed(echo, name):
    assert echo(np.dtype(name)) == name
    assert tvm_ffi.dtype(np.dtype(name)) == name


@pytest.mark.parametrize(
    "dtype",
    [np.dtype("M8[s]"), np.dtype(object), np.dtype("U3"), np.dtype([("a", "i4")]), np.dtype(">i4")],
    ids=str,
)
def test_an_unsupported_numpy_dtype_is_a_value_error(echo, dtype):
    with pytest.raises(ValueError, match=r"argument #0 when calling `echo`"):
        echo(dtype)


@pytest.mark.parametrize(
    "name",
    ["bfloat16", *FLOAT8, *FLOAT6, "float4_e2m1fn", "int2", "int4", "uint2", "uint4"],
)
def test_dtype_of_ml_dtypes_is_passed(echo, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    assert echo(np.dtype(getattr(ml_dtypes, name))) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, name) for name in PLAIN),
        ("bfloat16", "bfloat16"),
        ("half", "float16"),
        ("double", "float64"),
        ("complex64", "complex64"),
        ("float8_e4m3fn", "float8_e4m3fn"),
        ("float8_e8m0fnu", "float8_e8m0fnu"),
        ("float4_e2m1fn_x2", "float4_e2m1fnx2"),
    ],
)
def test_torch_dtype_is_passed(echo, name, expected):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, name):
        pytest.skip(f"this torch has no {name}")
    assert echo(getattr(torch, name)) == expected


@pytest.mark.parametrize("name", ["qint8", "bits16"])
def test_an_unsupported_torch_dtype_is_a_value_error(echo, name):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"argument #0 when calling `echo`"):
        echo(getattr(torch, name))


def test_dtype_protocol(echo):
    class Foreign:
        def __dlpack_data_type__(self):
            return (2, 32, 4)

    assert echo(Foreign()) == "float32x4"


@pytest.mark.parametrize("answer", [5, (1, 2), (0, 999, 1), ("a", "b", "c")], ids=repr)
def test_an_invalid_result_of_the_dtype_protocol_is_refused(echo, answer):
    cls = type("Foreign", (), {"__dlpack_data_type__": lambda self: answer})
    with pytest.raises((TypeError, ValueError, OverflowError), match="argument #0"):
        echo(cls())


def test_torch_and_numpy_dtypes_get_canonical_names():
    torch = pytest.importorskip("torch")
    assert str(tvm_ffi.dtype(torch.float32)) == "float32"
    assert str(tvm_ffi.dtype(torch.float4_e2m1fn_x2)) == "float4_e2m1fnx2"
    assert str(tvm_ffi.dtype(np.dtype("<i4"))) == "int32"
    assert str(tvm_ffi.dtype(np.dtype(bool))) == "bool"
    assert str(tvm_ffi.dtype("i4")) == "i4"  # a string is kept as it was given


def test_table_of_numpy_dtypes():
    names = tvm_ffi.dtype._NUMPY_DTYPE_TO_STR
    assert names[np.dtype("uint16")] == "uint16"
    assert names[np.dtype(bool)] == "bool"
    assert tvm_ffi.dtype._NUMPY_DTYPE_TO_STR is names


def test_table_of_numpy_dtypes_has_those_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert tvm_ffi.dtype._NUMPY_DTYPE_TO_STR[np.dtype(ml_dtypes.bfloat16)] == "bfloat16"
    assert tvm_ffi.dtype._NUMPY_DTYPE_TO_STR[np.dtype(ml_dtypes.float4_e2m1fn)] == "float4_e2m1fn"


def test_the_dtype_cache_is_bounded(echo):
    """Regression: each of the 2^32 possible dtypes stayed in the cache after its first use."""
    first = echo(tvm_ffi.dtype("int32x17"))
    assert echo(tvm_ffi.dtype("int32x17")) is first
    for lanes in range(2, 1200):
        echo(tvm_ffi.dtype(f"uint8x{lanes}"))
    again = echo(tvm_ffi.dtype("int32x17"))
    assert again == first
    assert again is not first
