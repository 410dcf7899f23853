# SPDX-License-Identifier: Apache-2.0
"""Arguments, results, errors and metadata of generated wrappers."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi.codegen import make_wrapper
from tvm_ffi.inspection import inspect_library

from .printers import built

FOLDER = Path(__file__).parent
F32, F64 = np.float32, np.float64

WRAPPERS = {
    made.name: made
    for made in (
        make_wrapper("scale(x: float32*[n], y: out float32*[n], n: int32, a: float32 = 2.0)"),
        make_wrapper(
            "fill(x: out T*[...]) where T in (int8, float32)", "fill_{T}", arguments=["x", "x.size"]
        ),
        make_wrapper("sum(x: float64[n] | None, n: int64 = 0) -> float"),
        make_wrapper(
            "sum_strided(x: float64[n, m]) -> float", arguments=["x", "x.shape", "x.strides"]
        ),
        make_wrapper(
            "digits(x: Tensor[n, m], byte: int64) -> int",
            arguments=[
                *("n", "int32 m", "x.strides[0]", "x.ndim", "x.size", "x.device", "cdiv(n, 2)"),
                "uint8 byte",
            ],
        ),
        make_wrapper("check(status: int)", returns="status"),
        make_wrapper("negated(a: int32) -> int32"),
        make_wrapper("largest() -> uint64"),
        make_wrapper(
            "flipped(a: uint64 = 18446744073709551615) -> uint64",
            arguments=["uint64 a", "uint64 18446744073709551614"],
        ),
        make_wrapper(
            "last(x: float32[n]) -> (out: float32[n, 3])",
            arguments=["x", "out", "int32 out.strides[0]", "int32 out.size", "out.ndim"],
        ),
        make_wrapper("value(a: int) -> int"),
        make_wrapper("thrice(a: int) -> int", "arg_a"),
        make_wrapper("is_positive(a: float) -> bool"),
        make_wrapper("half(a: float32) -> float32"),
        make_wrapper("length(text: str, other: str | None = None) -> int"),
        make_wrapper(
            "default_length(text: str = '\"two\"') -> int", "length", arguments=["text"] * 2
        ),
        make_wrapper("first_byte(data: bytes) -> int", arguments=["data", "data.size"]),
        make_wrapper("or_seven(a: int | None = None) -> int"),
        make_wrapper("keep(x: Tensor)", arguments=["stream"]),
        make_wrapper("address(pointer: ctypes.c_void_p) -> int"),
        make_wrapper("at(x: Tensor) -> int", "description", arguments=["x.tensor"], device=None),
        make_wrapper(
            "outer(x: float32[n], y: float32[m]) -> float32[n, m] doc 'Multiply all pairs.'",
            arguments=["x", "y", "result", "n", "m"],
        ),
        make_wrapper(
            "halves(x: T[n]) -> (low: T[n//2], high: T[cdiv(n, 2)]) where T in (int32, uint32)",
            arguments=["x", "n", "low", "high"],
            returns="status",
        ),
        make_wrapper("root(a: float) -> float", returns="error"),
        make_wrapper("is_odd(a: int8) -> (odd: bool)", returns="error"),
        make_wrapper(
            "pairs(x: int32[n]) -> int32[n]", returns="error", arguments=["x", "n", "result"]
        ),
        make_wrapper(
            "shrink(x: float32[n]) -> float32[n - 2]", "idle", arguments=[]
        ),
        make_wrapper("ratio(x: float32[n]) -> float32[4//n]", "idle", arguments=[]),
        make_wrapper(
            "stacked(x: float32[*s] | None, y: float32[n, *s]) "
            "-> (a: float32[*s, 2], b: int8[n, *s])",
            "idle",
            arguments=[],
        ),
        make_wrapper(
            "elementwise(x: float32[*s], n: int) -> float32[*s]",
            "double_all",
            arguments=["x", "result", "x.size", "result.ndim", "n"],
        ),
        make_wrapper("tail(x: float32[*s], k: int) -> float32[*s, k]", "idle", arguments=[]),
        make_wrapper(
            "sum_in(x: float32[n], k: int, scale: float) -> float",
            arguments=[
                *("x", "n", "workspace(4*n)", "workspace(k)", "int8 -1", "float32 2.0", "+0.5"),
                *("null", "float32 scale"),
            ],
        ),
    )
}  # fmt: skip
IDLE = "void idle(void) {}\n"


@pytest.fixture(scope="module")
def library(printer, c_compiler, tmp_path_factory):
    others = [FOLDER / "callees.c", FOLDER / "raw_calls.c"]
    texts = [IDLE, *(other.read_text(encoding="utf-8") for other in others)]
    yield from built(
        printer, "wrappers", WRAPPERS.values(), texts, tmp_path_factory.mktemp(printer)
    )


def test_tensors_are_passed_as_addresses_and_numbers_as_values(library):
    y = np.zeros(3, F32)
    library.scale(np.array([1, 2, 3], F32), y, 3, 0.5)
    assert y.tolist() == [0.5, 1, 1.5]
    library.scale(y.copy(), y, 3)
    assert y.tolist() == [1, 2, 3]


def test_addresses_include_the_byte_offset(library):
    y = np.zeros(2, F32)
    library.call_with_view(library.scale, np.array([1, 2, 3, 4], F32)[:2], 8, 0, y, 2, 1)
    assert y.tolist() == [3, 4]


def test_tensors_without_strides_are_compact(library):
    x = np.arange(6, dtype=F64).reshape(2, 3)
    assert library.call_with_view(library.sum_strided, x, 0, 0) == 15
    assert library.sum_strided(x.T) == 15
    assert library.sum_strided(x[:, ::-2]) == 0 + 2 + 3 + 5


@pytest.mark.parametrize(
    ("count", "byte_offset", "what", "error", "text"),
    [
        (2, 0, 1, ValueError, "expected the address of the first element, got NULL"),
        (2, 0, 2, TypeError, "expected float32[n] compact on cpu, got NULL"),
        (2, 6, 0, ValueError, "expected an address aligned to 4 bytes, got remainder 2"),
    ],
)
def test_addresses_from_native_callers_are_checked(library, count, byte_offset, what, error, text):
    x, y = np.ones(count, F32), np.zeros(count, F32)
    with pytest.raises(error) as caught:
        library.call_with_view(library.scale, x, byte_offset, what, y, count)
    assert str(caught.value) == f"scale() argument 'x': {text}"


def test_workspaces_and_constants(library):
    x = np.arange(5, dtype=F32)
    assert library.sum_in(x, 0, 3.0) == 30
    assert library.sum_in(x[:0], 0, 3.0) == 0
    assert library.sum_in(x, 1, 3.0) == -1  # the memory for a workspace of size 0
    text = "sum_in(): workspace(k) must have >= 0 bytes, got -1"
    with pytest.raises(ValueError, match=re.escape(text)):
        library.sum_in(x, -1, 3.0)
    with pytest.raises(MemoryError, match="the size in bits overflows 64 bits"):
        library.sum_in(x, 2**62, 3.0)
    assert library.sum_in(x, 0, 3.0) == 30


def test_an_empty_tensor_may_have_no_memory(library):
    assert library.call_with_view(library.scale, np.ones(0, F32), 3, 1, np.ones(0, F32), 0) is None


def test_the_dtype_selects_the_callee(library):
    x, y = np.zeros((2, 3), np.int8), np.zeros(4, F32)
    library.fill(x)
    library.fill(y)
    assert x.tolist() == [[8] * 3] * 2
    assert y.tolist() == [32] * 4


def test_none_is_passed_as_null(library):
    assert library.sum(np.array([1.0, 2]), 2) == 3
    assert library.sum(None) == -1
    assert library.or_seven() == 7
    assert library.or_seven(None) == 7
    assert library.or_seven(-2) == -2
    assert library.address(None) == 0
    assert library.address(ctypes.c_void_p(123)) == 123


def test_fields_and_expressions(library):
    x = np.zeros((7, 30), F32)[:, :12]
    assert library.digits(x, 99) == 7_12_30_02_84_00_04_99


def test_converted_arguments_must_fit(library):
    x = np.zeros((7, 12), F32)
    with pytest.raises(ValueError, match=r"digits\(\): byte = 256 does not fit uint8"):
        library.digits(x, 256)
    with pytest.raises(ValueError, match=r"digits\(\): byte = -1 does not fit uint8"):
        library.digits(x, -1)


def test_a_nonzero_status_is_an_error(library):
    assert library.check(0) is None
    with pytest.raises(RuntimeError, match=r"^check\(\) failed: check returned -3$"):
        library.check(-3)


def test_callees_may_raise(library):
    assert library.root(9) == 3
    assert library.is_odd(-3) is True
    assert library.is_odd(4) is False
    assert library.pairs(np.array([1, 2], np.int32)).numpy().tolist() == [2, 4]
    with pytest.raises(IndexError, match="^no root$"):
        library.root(-1)
    with pytest.raises(ValueError, match="^nothing to pair$"):
        library.pairs(np.zeros(0, np.int32))


def test_numeric_results(library):
    assert library.negated(5) == -5
    assert library.largest() == 2**64 - 1
    assert library.flipped() == 1
    assert library.flipped(2**63) == 2**63 - 2
    assert library.flipped(0) == 2**64 - 2
    assert library.last(np.arange(4, dtype=np.float32)).numpy()[-1].tolist() == [3, 12, 2]
    assert library.is_positive(1) is True
    assert library.is_positive(-1.5) is False
    assert library.half(3) == 1.5
    assert isinstance(library.half(4), float)


def test_callees_may_have_names_of_locals(library):
    assert library.value(5) == 10
    assert library.thrice(5) == 15


def test_strings_are_nul_terminated(library):
    assert library.length("four") == 104
    assert library.length("", "a text of many bytes") == 20
    assert library.length("é") == 102
    assert library.default_length() == 10
    assert library.default_length("é") == 4
    with pytest.raises(
        ValueError, match=r"'text': expected a string without NUL bytes, got one at index 1"
    ):
        library.length("a\0b")


def test_bytes_are_passed_with_their_size(library):
    assert library.first_byte(b"") == -1
    assert library.first_byte(b"\0\1") == 0
    assert library.first_byte(b"\xff" * 100) == 255


def test_the_stream_belongs_to_the_device_of_the_first_tensor(library):
    x = np.zeros(1, F32)
    kept = ctypes.c_void_p.in_dll(library.plain, "kept")
    library.keep(x)
    assert kept.value is None
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cpu"), 4096):
        library.keep(x)
    assert kept.value == 4096


def test_tensors_can_be_passed_as_dltensor(library):
    assert library.at(np.zeros(1, F32)) != 0


def test_results_are_allocated(library):
    product = library.outer(np.array([1, 2], F32), np.array([3, 4, 5], F32))
    assert isinstance(product, tvm_ffi.Tensor)
    assert product.numpy().tolist() == [[3, 4, 5], [6, 8, 10]]


def test_results_have_the_extents_of_an_ellipsis(library):
    a, b = library.stacked(None, np.zeros((7, 2, 3), F32))
    assert (a.shape, b.shape, str(b.dtype)) == ((2, 3, 2), (7, 2, 3), "int8")
    a, b = library.stacked(np.zeros((), F32), np.zeros(7, F32))
    assert (a.shape, b.shape) == ((2,), (7,))
    x = np.arange(6, dtype=F32).reshape(1, 2, 3)
    assert library.elementwise(x, 3).numpy().tolist() == (2 * x).tolist()
    assert library.elementwise(np.full((), 4, F32), 0).numpy() == 8
    text = r"^tail\(\) result 'result': shape\[-1\] must be >= 0, got -1$"
    with pytest.raises(ValueError, match=text):
        library.tail(x, -1)


def test_results_have_at_most_64_dimensions(library):
    try:
        x = np.zeros([1] * 64, F32)
    except ValueError:
        pytest.skip("arrays of this NumPy have at most 32 dimensions")
    assert library.elementwise(x, 64).shape == (1,) * 64
    text = r"^tail\(\) result 'result': expected at most 63 dimensions for \*s, got 64$"
    with pytest.raises(ValueError, match=text):
        library.tail(x, 1)


def test_several_results_are_an_array(library):
    low, high = library.halves(np.array([1, 2, 3], np.int32))
    assert low.numpy().tolist() == [1]
    assert high.numpy().tolist() == [2, 3]
    assert high.dtype == "int32"
    assert library.halves(np.zeros(4, np.uint32))[0].dtype == "uint32"


def test_a_failure_releases_the_results(library):
    with pytest.raises(RuntimeError, match=r"^halves\(\) failed: halves returned 55$"):
        library.halves(np.zeros(5, np.int32))


@pytest.mark.parametrize(
    ("name", "count", "text"),
    [
        ("shrink", 1, "shrink() result 'result': shape[0] must be >= 0, got -1"),
        ("ratio", 0, "ratio() result 'result': `4//n` divides by zero"),
    ],
)
def test_negative_extents_of_results_are_refused(library, name, count, text):
    with pytest.raises(ValueError, match="result") as caught:
        getattr(library, name)(np.zeros(count, F32))
    assert str(caught.value) == text


# ---- metadata ------------------------------------------------------------------------------------


def test_the_library_contains_signatures_and_documentation(library):
    metadata = library.module.get_function_metadata("outer")
    assert metadata["signature"] == (
        "outer(x: float32*[n] on cpu, y: float32*[m] on cpu) -> float32[n, m] "
        "doc 'Multiply all pairs.'"
    )
    tensor = {"type": "ffi.Tensor"}
    assert json.loads(metadata["type_schema"]) == {
        "type": "ffi.Function",
        "named_args": {"return": [tensor], "params": [tensor, tensor]},
    }
    assert library.module.get_function_doc("outer") == "Multiply all pairs."
    assert library.module.get_function_doc("scale") is None


def test_tools_read_signatures_from_the_file(library):
    functions = {one.name: one for one in inspect_library(library.path).functions}
    assert functions["outer"].doc == "Multiply all pairs."
    assert functions["negated"].signature == "(a: int32) -> int32"
