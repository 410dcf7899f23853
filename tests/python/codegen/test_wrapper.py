# SPDX-License-Identifier: Apache-2.0
"""`make_wrapper`: refined signatures, callees, and errors."""

from __future__ import annotations

import pytest

from tvm_ffi.codegen import c, make_wrapper


@pytest.mark.parametrize(
    ("text", "arguments", "checked"),
    [
        ("f(x: float32[n])", None, "f(x: float32*[n] on cpu)"),
        ("f(x: float32[n])", [], "f(x: float32[n])"),
        ("f(x: float32[n])", ["x.tensor"], "f(x: float32[n])"),
        ("f(x: float32[n])", ["x", "x.strides"], "f(x: float32*[n] strided on cpu)"),
        ("f(x: float32[n])", ["x", "x.strides[0]"], "f(x: float32*[n] strided on cpu)"),
        ("f(x: float32[n] on cuda)", None, "f(x: float32*[n] on cuda)"),
        # Strides that are not passed must be those of a compact tensor.
        (
            "f(x: float32[n, m])",
            ["x", "x.strides[0]"],
            "f(x: float32*[n, m] compact from 1 on cpu)",
        ),
        ("f(x: float32[n, m])", ["x", "x.strides[1]"], "f(x: float32*[n, m] compact on cpu)"),
        (
            "f(x: float32[n, m, k])",
            ["x", "x.strides[2]", "x.strides[0]"],
            "f(x: float32*[n, m, k] compact from 1 on cpu)",
        ),
        (
            "f(x: float32[n, m])",
            ["x", "x.strides[1]", "x.strides[0]"],
            "f(x: float32*[n, m] strided on cpu)",
        ),
        (
            "f(x: float32[n, m] compact from -1)",
            ["x", "x.strides[0]"],
            "f(x: float32*[n, m] compact from -1 on cpu)",
        ),
        (
            "f(x: float32[n, m] compact)",
            ["x", "x.strides[0]"],
            "f(x: float32*[n, m] compact on cpu)",
        ),
    ],
)
def test_the_signature_contains_the_conditions_of_the_callee(text, arguments, checked):
    assert str(make_wrapper(text, arguments=arguments).signature) == checked


def test_default_arguments_are_parameters_and_results():
    wrapper = make_wrapper("f(x: float32[n], k: int) -> (a: float32[n], float32[k])")
    assert list(map(str, wrapper.arguments)) == ["x", "k", "a", "result1"]
    assert wrapper.returns == "void"


def test_each_combination_of_dtypes_has_a_callee():
    text = "f(x: A[n], y: B[n]) where A in (int8, bool), B in (float16, float32)"
    assert make_wrapper(text, "f_{B}_{A}").callees == {
        ("int8", "float16"): "f_float16_int8",
        ("int8", "float32"): "f_float32_int8",
        ("bool", "float16"): "f_float16_bool",
        ("bool", "float32"): "f_float32_bool",
    }


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("(x: int)", {}, "expected a signature whose name is a C identifier, got ''"),
        ("a.b(x: int)", {}, "whose name is a C identifier, got 'a.b'"),
        ("f(*x: int)", {}, r"f: variadic parameter '\*x' cannot be passed to C"),
        ("f(x: Array[int])", {}, r"'x' is Array\[int\], which cannot be passed to C; expected a"),
        ("f(x: None)", {}, "'x' is None, which cannot be passed to C"),
        ("f(x: Any)", {}, "'x' is Any, which cannot be passed to C"),
        ("f(x: int)", {"callee": "f-g"}, "'f-g' is not a C identifier"),
        ("f(x: int)", {"callee": "f_{T}"}, r"'\{T\}' in 'f_\{T\}' is not a dtype variable"),
        ("f(x: int)", {"returns": "int"}, "returns must be one of void, value, status, error, got"),
        (
            "f() -> int",
            {"arguments": ["result"]},
            "result 'result' is a number; the callee must either return",
        ),
        (
            "f() -> int",
            {"arguments": [], "returns": "error"},
            "result 'result' is a number; the callee must either return",
        ),
        ("f(x: int)", {"returns": "value"}, "returns a result by value only if it is the only"),
        ("f(x: int) -> int", {"returns": "status"}, "returns a result by value only if it is"),
        ("f(x: int) -> (int, int)", {}, "if there are several results, all must be tensors"),
        ("f(x: Tensor) -> (x: int8[2])", {}, "duplicate name 'x' among parameters and results"),
        ("f(x: int) -> str", {}, "'result', str, cannot be converted from the return value of a C"),
        ("f(x: int) -> int | None", {}, r"'result', int \| None, cannot be converted from"),
        ("f(x: int) -> Tensor[x]", {}, "cannot be allocated: its dtype is unknown"),
        ("f(x: int) -> float32[_]", {}, "cannot be allocated: its shape is unknown"),
        ("f(x: int) -> float32[...]", {}, "cannot be allocated: its shape is unknown"),
        ("f(x: int8[*s] | None) -> int8[*s]", {}, r"'\*s' is bound only by an optional argument"),
        ("f(x: int8[*s])", {"arguments": ["*s"]}, r"expected an argument of the callee, got '\*s'"),
        ("f(x: int8[*s])", {"arguments": ["x.shape[0]"]}, "the number of dimensions is unknown"),
        ("f(x: int8[n] | None) -> int8[n]", {}, "'n' is bound only by an optional argument"),
        ("f(x: Tensor[n] strided)", {}, "may have any strides, but only its address is passed"),
        ("f(x: Tensor compact from 1)", {}, "may have other strides, but only its address is"),
        (
            "f(x: Tensor[n, m] strided)",
            {"arguments": ["x", "x.strides[0]"]},
            r"in dimension 1, .*; also pass x\.strides\[1\], or declare it `compact from 1`",
        ),
        (
            "f(x: Tensor[n, m, k] compact from 2)",
            {"arguments": ["x", "x.strides[2]"]},
            r"in dimensions 0, 1, .*; also pass x\.strides\[0\], x\.strides\[1\], or .* `compact`",
        ),
        ("f(x: Tensor[n])", {"arguments": ["y"]}, "'y' is neither a parameter nor a result, and"),
        ("f(x: Tensor[n])", {"arguments": ["x.stride"]}, r"'x\.stride' is not a field of a param"),
        ("f(x: Tensor[n])", {"arguments": ["y.shape"]}, r"'y\.shape' is not a field of a param"),
        (
            "f(x: Tensor[n])",
            {"arguments": ["x.shape[1]"]},
            r"'x\.shape\[1\]': expected an axis below 1, got 1",
        ),
        (
            "f(x: Tensor[n])",
            {"arguments": ["x.ndim[0]"]},
            "expected no axis, because only shapes and strides have axes",
        ),
        (
            "f(x: Tensor)",
            {"arguments": ["x.strides"]},
            "dimensions is unknown; pass the field `tens",
        ),
        (
            "f(x: Tensor | None)",
            {"arguments": ["x.ndim"]},
            "may be None and then has no such field; pass its",
        ),
        (
            "f(x: int)",
            {"arguments": ["x.ndim"]},
            "expected a tensor, because only tensors have this field",
        ),
        ("f(x: int)", {"arguments": ["stream"]}, "a stream needs a required tensor parameter"),
        ("f(x: float)", {"arguments": ["int8 x"]}, "'x' cannot be converted to int8"),
        (
            "f(x: uint64)",
            {"arguments": ["int64 x"]},
            "f: 'x' cannot be converted to int64: 'x' is uint64, .*; pass 'uint64 x' alone, or",
        ),
        ("f(x: uint64)", {"arguments": ["x + 1"]}, r"f: 'x \+ 1': 'x' is uint64, and expressions"),
        ("f(x: int)", {"arguments": ["int7 x"]}, "C has no integer type int7"),
        ("f(x: Tensor)", {"arguments": ["int8 x"]}, "'x' cannot be converted to int8"),
        ("f(x: Tensor[n])", {"arguments": ["_"]}, "expected an argument of the callee, got '_'"),
        ("f(x: Tensor)", {"arguments": ["float32 x"]}, "'x' cannot be converted to float32"),
        ("f(x: int)", {"arguments": ["float32 x"]}, "'x' cannot be converted to float32"),
        (
            "f(x: int)",
            {"arguments": ["uint8 -1"]},
            "callee argument -1 does not fit the integer type uint8",
        ),
        (
            "f(x: int)",
            {"arguments": ["int8 1.5"]},
            "callee argument 1.5 does not fit the integer type int8",
        ),
        ("f(x: int)", {"arguments": ["int8 null"]}, "'null' cannot be converted to int8"),
        ("f(x: int)", {"arguments": ["workspace(x)"]}, "a workspace needs a required tensor"),
        ("f(x: Tensor)", {"arguments": ["workspace(n)"]}, "'n' is not an extent of every call"),
        ("f(x: Tensor[n])", {"arguments": ["n +"]}, "expected an extent"),
        ("f(n: int | None)", {"arguments": ["n + 1"]}, "'n' is not an extent of every call"),
    ],
)
def test_invalid_wrappers_are_refused(text, options, message):
    with pytest.raises(ValueError, match=message):
        make_wrapper(text, **options)


def test_duplicate_names_in_a_file_are_refused():
    with pytest.raises(ValueError, match="duplicate function name 'f'"):
        c.source_of([make_wrapper("f(x: int)"), make_wrapper("f(x: float)", "g")])


def test_conflicting_prototypes_are_refused():
    with pytest.raises(
        ValueError, match=r"conflicting prototypes of 'g': `void g\(int64_t\);` and"
    ):
        c.source_of([make_wrapper("a(x: int)", "g"), make_wrapper("b(x: float)", "g")])
