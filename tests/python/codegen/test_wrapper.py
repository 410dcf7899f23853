# SPDX-License-Identifier: Apache-2.0
"""Which functions can be wrapped, and what is said of the others."""

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
    ],
)
def test_the_signature_says_what_the_function_relies_on(text, arguments, checked):
    assert str(make_wrapper(text, arguments=arguments).signature) == checked


def test_a_function_takes_parameters_and_then_results_by_default():
    wrapper = make_wrapper("f(x: float32[n], k: int) -> (a: float32[n], float32[k])")
    assert list(map(str, wrapper.arguments)) == ["x", "k", "a", "result1"]
    assert wrapper.returns == "void"


def test_each_choice_of_dtypes_has_a_function():
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
        ("(x: int)", {}, "needs a name that C can have, got ''"),
        ("a.b(x: int)", {}, "needs a name that C can have, got 'a.b'"),
        ("f(*x: int)", {}, r"f: '\*x' has no form in C"),
        ("f(x: Array[int])", {}, r"'x' is Array\[int\], which has no form in C; tensors, numbers"),
        ("f(x: None)", {}, "'x' is None, which has no form in C"),
        ("f(x: Any)", {}, "'x' is Any, which has no form in C"),
        ("f(x: int)", {"callee": "f-g"}, "'f-g' cannot be the name of a function in C"),
        ("f(x: int)", {"callee": "f_{T}"}, r"'\{T\}' in 'f_\{T\}' is no dtype variable"),
        ("f(x: int)", {"returns": "int"}, "returns must be one of void, value, status, error, got"),
        ("f() -> int", {"arguments": ["result"]}, "'result' is a number; its address is passed w"),
        ("f() -> int", {"arguments": [], "returns": "error"}, "'result' is a number; its address"),
        ("f(x: int)", {"returns": "value"}, "returns a result as its value when it is the only"),
        ("f(x: int) -> int", {"returns": "status"}, "returns a result as its value when it is"),
        ("f(x: int) -> (int, int)", {}, "of several results all must be tensors"),
        ("f(x: Tensor) -> (x: int8[2])", {}, "two of its parameters and results are 'x'"),
        ("f(x: int) -> str", {}, "'result', str, cannot be made of what a function of C returns"),
        ("f(x: int) -> int | None", {}, r"'result', int \| None, cannot be made of what"),
        ("f(x: int) -> Tensor[x]", {}, "cannot be allocated: its dtype is not known"),
        ("f(x: int) -> float32[_]", {}, "cannot be allocated: its shape is not known"),
        ("f(x: int) -> float32[...]", {}, "cannot be allocated: its shape is not known"),
        ("f(x: int8[n] | None) -> int8[n]", {}, "'n' is known only when an argument that may be"),
        ("f(x: Tensor[n] strided)", {}, "may have any strides, and only its address is passed"),
        ("f(x: Tensor[n])", {"arguments": ["y"]}, "'y' is neither a parameter nor a result, and"),
        ("f(x: Tensor[n])", {"arguments": ["x.stride"]}, r"'x\.stride' is no field of a param"),
        ("f(x: Tensor[n])", {"arguments": ["y.shape"]}, r"'y\.shape' is no field of a param"),
        ("f(x: Tensor[n])", {"arguments": ["x.shape[1]"]}, r"'x\.shape\[1\]': it has 1 dimens"),
        ("f(x: Tensor[n])", {"arguments": ["x.ndim[0]"]}, "only shapes and strides have axes"),
        ("f(x: Tensor)", {"arguments": ["x.strides"]}, "dimensions is not known; pass its `tens"),
        ("f(x: Tensor | None)", {"arguments": ["x.ndim"]}, "may be None; pass its `tensor`"),
        ("f(x: int)", {"arguments": ["x.ndim"]}, "only tensors have it"),
        ("f(x: int)", {"arguments": ["stream"]}, "no tensor says whose stream is meant"),
        ("f(x: float)", {"arguments": ["int8 x"]}, "'x' cannot be converted to int8"),
        ("f(x: int)", {"arguments": ["int7 x"]}, "C has no integer int7"),
        ("f(x: Tensor)", {"arguments": ["int8 x"]}, "'x' cannot be converted to int8"),
        ("f(x: Tensor[n])", {"arguments": ["_"]}, "'_' is no value"),
        ("f(x: Tensor)", {"arguments": ["float32 x"]}, "'x' cannot be converted to float32"),
        ("f(x: int)", {"arguments": ["float32 x"]}, "'x' cannot be converted to float32"),
        ("f(x: int)", {"arguments": ["uint8 -1"]}, "-1 does not fit uint8"),
        ("f(x: int)", {"arguments": ["int8 1.5"]}, "1.5 does not fit int8"),
        ("f(x: int)", {"arguments": ["int8 null"]}, "'null' cannot be converted to int8"),
        ("f(x: int)", {"arguments": ["workspace(x)"]}, "no tensor says whose device has the works"),
        ("f(x: Tensor)", {"arguments": ["workspace(n)"]}, "'n' is no extent that every call has"),
        ("f(x: Tensor[n])", {"arguments": ["n +"]}, "expected an extent"),
        ("f(n: int | None)", {"arguments": ["n + 1"]}, "'n' is no extent that every call has"),
    ],
)
def test_what_cannot_be_wrapped(text, options, message):
    with pytest.raises(ValueError, match=message):
        make_wrapper(text, **options)


def test_names_of_one_file_differ():
    with pytest.raises(ValueError, match="two wrappers are named 'f'"):
        c.source_of([make_wrapper("f(x: int)"), make_wrapper("f(x: float)", "g")])


def test_a_function_is_called_in_one_way():
    with pytest.raises(ValueError, match=r"'g' is called in two ways, as `void g\(int64_t\);` and"):
        c.source_of([make_wrapper("a(x: int)", "g"), make_wrapper("b(x: float)", "g")])
