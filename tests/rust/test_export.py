# SPDX-License-Identifier: Apache-2.0
"""Functions exported by Rust: calls from Python, metadata, and signatures that do not compile."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import tvm_ffi
from tvm_ffi import inspection

HAS_TORCH = importlib.util.find_spec("torch") is not None
F32, F64 = np.float32, np.float64


@pytest.fixture(scope="session")
def path(build_library):
    return build_library("exports", Path(__file__).with_name("exports.rs").read_text("utf-8"))


@pytest.fixture(scope="session")
def library(path):
    return tvm_ffi.load_module(path)


# ---- Metadata ------------------------------------------------------------------------------------


def test_a_library_returns_signatures_and_documentation(library):
    doc = 'Multiply each element.\n\n    The "indented" line keeps its indentation.'
    assert library.get_function_doc("scale") == doc
    assert str(library.get_function_signature("repeat")) == (
        "repeat(text: str, bytes: bytes, count: uint8 = 2) -> (text: str, size: int)"
    )
    assert list(inspect.signature(library.scale).parameters) == ["x", "y", "factor"]


def test_inspection_reads_signatures_without_loading_the_library(path):
    report = inspection.inspect_library(path)
    functions = {function.name: function for function in report.functions}
    assert functions["scale"].doc.startswith("Multiply each element.")
    assert functions["relu"].signature == "(x: inout float64*) -> int"
    assert len(functions) == 13
    assert report.era.declared == "0.1.16"


def test_a_library_is_not_linked_with_the_runtime(path):
    with path.open("rb") as file:
        dynamic = ELFFile(file).get_section_by_name(".dynamic")
        needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    assert not any("tvm" in name for name in needed)


# ---- Calls ---------------------------------------------------------------------------------------


def test_slices_use_the_memory_of_arrays(library):
    x, whole = np.arange(3, dtype=F32), np.zeros(5, F32)
    library.scale(x, whole[1:4])
    np.testing.assert_array_equal(whole, [0, 0, 2, 4, 0])
    library.scale(y=whole[1:4], x=x, factor=-1)
    np.testing.assert_array_equal(whole, [0, 0, -1, -2, 0])
    library.scale(x[:0], whole[:0])


def test_tensors_of_any_strides_are_read_by_index(library):
    x = np.arange(12, dtype=np.int32).reshape(4, 3)[::-2, ::2]
    y = np.zeros((2, 4), np.int32)[:, ::2]
    library.transpose(x, y)
    np.testing.assert_array_equal(y, x.T)


def test_a_tensor_is_updated_in_place(library):
    x = np.array([[-1.0, 2.0]])
    assert library.relu(x) == 2
    np.testing.assert_array_equal(x, [[0, 2]])


def test_arguments_and_results_are_converted(library):
    text, size = library.repeat("ab", b"12345678")
    assert (text, size) == ("abab", 8)
    assert list(library.repeat("long enough for an object", b"", 1)) == [
        "long enough for an object",
        0,
    ]
    text = library.summarize(tvm_ffi.dtype("int8"), tvm_ffi.device("cuda:1"), 1)
    assert text == "int8 cuda:1 true no shape"
    text = library.summarize(tvm_ffi.dtype("int8"), tvm_ffi.device("cpu"), False, (2, 3))
    assert text == "int8 cpu:0 false [2, 3]"
    assert library.look_up({"a": [1]}, "a")[0] == 1


def test_rust_calls_functions_and_modules(library):
    assert list(library.apply(lambda n: n * n, [1, 2, 3])) == [1, 4, 9]
    assert library.call_in(library, "parse", ["12"]) == 12
    with pytest.raises(AttributeError, match="the module has no function 'nothing'"):
        library.call_in(library, "nothing", [])


def test_results_for_numpy_arguments_are_in_host_memory(library):
    result = library.new_zeros(np.ones((2, 3)))
    assert (result.shape, str(result.dtype)) == ((2, 3), "float32")
    assert not result.numpy().any()


@pytest.mark.skipif(not HAS_TORCH, reason="no torch")
def test_results_are_allocated_by_the_framework_of_the_arguments(library):
    import torch

    result = library.new_zeros(torch.ones(2))
    assert isinstance(result, torch.Tensor)
    assert result.tolist() == [0.0, 0.0]
    assert library.sum(torch.ones(3)) == 3.0


# ---- Failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyError, IndexError, AssertionError])
def test_errors_keep_their_kind(library, error):
    with pytest.raises(error, match="the message"):
        library.failing(error.__name__)


def test_errors_of_the_standard_library_become_exceptions(library):
    with pytest.raises(ValueError, match="^invalid digit found in string$"):
        library.parse("twelve")
    assert library.parse("12") == 12


def test_a_panic_raises_an_exception_and_the_next_call_succeeds(library, capfd):
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"^panicking\(\) panicked: out of luck$"):
            library.panicking("out of luck")
    assert "out of luck" in capfd.readouterr().err
    assert library.parse("3") == 3


def test_a_python_exception_passes_through_rust_unchanged(library):
    raised = LookupError("raised in Python")

    def fail(_):
        raise raised

    with pytest.raises(LookupError) as caught:
        library.apply(fail, [1])
    assert caught.value is raised


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda f: f.sum(np.ones((2, 2), F32)[:, 1]),
            "expected a compact tensor, got strides (2,)",
        ),
        (lambda f: f.sum(np.ones(2)), "expected dtype float32, got float64"),
        (lambda f: f.apply(len, "x"), "apply() argument 'values': expected Array, got str"),
        (lambda f: f.apply(1, []), "apply() argument 'function': expected Callable, got int"),
        (
            lambda f: f.apply(len, [1, "2"]),
            "apply() argument 'values': type conversion failed for Array[int]: element [1]",
        ),
        (lambda f: f.repeat("x", b"", 256), "repeat() argument 'count': 256 does not fit uint8"),
        (lambda f: f.summarize(1, "cpu", True), "'d': expected dtype, got int"),
        (lambda f: f.look_up({"a": 1}, "b"), '"b"'),
    ],
)
def test_an_error_names_the_argument_that_does_not_fit(library, call, text):
    with pytest.raises((TypeError, ValueError, KeyError)) as caught:
        call(library)
    assert text in str(caught.value)


# ---- Compile errors ------------------------------------------------------------------------------

VIEW, MUT = "x: pytvmffi::TensorView<'_>", "x: pytvmffi::TensorMut<'_>"
NEEDS_OUT = "export!: parameter 'x' is written, so its type must begin with `out`"

REFUSED = [
    ("", "g()", "export!: expected the signature of `f`, got the signature of `g`"),
    ("", "f(a: int)", "export!: `f` and its signature have different numbers of parameters"),
    ("a: i64", "f(a: str)", "export!: parameter 'a' is `str`, which does not convert to i64"),
    ("a: i32", "f(a: int64)", "export!: parameter 'a' is `int64`, which does not convert to i32"),
    ("a: i32", "f(a: uint32)", "export!: parameter 'a' is `uint32`, which does not convert to i32"),
    (
        "a: i64",
        "f(a: int | None)",
        "export!: parameter 'a' may be None, so its Rust type must be an Option",
    ),
    (VIEW, "f(x: int)", "export!: parameter 'x' is `int`, which does not convert to Tensor"),
    (VIEW, "f(x: out Tensor)", "export!: parameter 'x' is written: take a TensorMut"),
    (MUT, "f(x: Tensor)", NEEDS_OUT),
    (MUT, "f(x: in Tensor)", NEEDS_OUT),
    (MUT, "f(x: unknown Tensor)", NEEDS_OUT),
    ("x: &mut [f32]", "f(x: float32*[n] on cpu)", NEEDS_OUT),
    ("x: Option<&mut [f32]>", "f(x: float32*[n] on cpu | None)", NEEDS_OUT),
    (
        "x: &[std::cell::Cell<f32>]",
        "f(x: float32*[n] on cpu)",
        "the trait `Callable<'_, _>` is not implemented for fn item",
    ),
    (
        "x: &[f32]",
        "f(x: float32[n] on cpu)",
        "export!: parameter 'x' is a slice, so its type must be",
    ),
    (
        "x: &[f32]",
        "f(x: float64*[n] on cpu)",
        "export!: parameter 'x' is a slice, so its type must be",
    ),
    ("a: i64", "f(a int)", "signature: expected ':' before `int)`"),
    ("a: i64", "f(a: int", "signature: expected ',' or ')' at the end of `f(a: int`"),
    ("a: i64", "f(a: int = [1])", "signature: export! does not support the default `[1]`"),
    (VIEW, "f(x: Tensor[2 * n])", "export! does not support expressions) before `* n]`"),
    (VIEW, "f(x: T[n])", "signature: `T` is not a dtype; declare it with `where T in (...)`"),
    (VIEW, "f(x: Tensor on gpu)", "signature: unknown device `gpu`"),
    (
        VIEW,
        "f(x: Tensor on cpu:2147483648)",
        "signature: a device id must be at most 2147483647, got 2147483648",
    ),
    (VIEW, "f(x: int8x0[n])", "signature: `int8x0` is not a dtype"),
    (VIEW, "f(x: int8x01[n])", "signature: `int8x01` is not a dtype"),
    (VIEW, "f(x: int08[n])", "signature: `int08` is not a dtype"),
    (VIEW, "f(x: Tensor compact from 0)", "signature: got `compact from 0`; expected another dim"),
    (VIEW, "f(x: Tensor[n, m] compact from 2)", "signature: got `compact from 2`; expected anoth"),
    (VIEW, "f(x: Tensor[n] compact from -2)", "signature: got `compact from -2`; expected anothe"),
    (VIEW, "f(x: Tensor[*s, ...])", "signature: expected at most one '...' or '*name' before `]`"),
    (VIEW, "f(x: Tensor[*s, s])", "signature: `s` is both an extent and an ellipsis"),
    (VIEW, "f(x: Tensor align n)", "signature: expected a number of bytes before `n`"),
    (VIEW, "f(x: Tensor align 24)", "an alignment must be a power of two from 2 to 4096, got 24"),
    ("a: f32", "f(a: float16)", "signature: float16 is not a C number type; write float16"),
    ("a: i64", "f(*a: int)", "signature: expected a parameter without `*`"),
    (
        "x: pytvmffi::TensorView<'static>",
        "f(x: Tensor)",
        "`arguments` escapes the closure body here",
    ),
]


@pytest.mark.parametrize(("parameter", "text", "message"), REFUSED)
def test_a_signature_that_contradicts_the_function_does_not_compile(
    cargo, write_package, parameter, text, message
):
    source = f"fn f({parameter.replace('a:', '_a:').replace('x:', '_x:')}) {{}}\n"
    package = write_package("refused", f'{source}pytvmffi::export!(f, "{text}");\n')
    output = cargo("check", cwd=package, status=101)
    assert message in output
