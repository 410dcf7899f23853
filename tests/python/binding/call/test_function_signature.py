# SPDX-License-Identifier: Apache-2.0
"""Signatures, names and documentation of functions; keyword arguments of Python callables."""

from __future__ import annotations

import ctypes
import functools
import inspect
import json
import pydoc
import weakref

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import Function, core
from tvm_ffi._binding.call.signature import signature_of_metadata_text


def scale(x, by: float = 2.0, *more, offset=0, **labels):
    """Multiply and add."""
    return f"{x * by + offset} {more} {labels}"


@pytest.fixture
def scaled():
    return tvm_ffi.convert_func(scale)


# ---- Name, documentation, signature --------------------------------------------------------------


def test_python_callable_shows_its_own_signature(scaled, echo):
    for function in (scaled, echo(scaled)):
        assert inspect.signature(function) == inspect.signature(scale)
        assert function.__name__ == "scale"
        assert function.__doc__ == "Multiply and add."
    assert inspect.getdoc(scaled) == "Multiply and add."


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        pytest.param(lambda a, b=1: a, "(a, b=1)", id="lambda"),
        pytest.param(functools.partial(scale, offset=3), "(x, by: 'float' = 2.0, *more, offset=3, "
                     "**labels)", id="partial"),
        pytest.param("text".encode, "(encoding='utf-8', errors='strict')", id="built-in"),
    ],
)  # fmt: skip
def test_signatures_of_callables(function, expected):
    assert str(inspect.signature(tvm_ffi.convert_func(function))) == expected


def test_callable_with_a_broken_signature_has_none():
    class Broken:
        __signature__ = "no signature"

        def __call__(self):
            return 1

    function = tvm_ffi.convert_func(Broken())
    assert not hasattr(function, "__signature__")
    assert not hasattr(function, "__name__")
    assert function() == 1


def test_a_library_function_shows_its_metadata(kernels):
    for function in (kernels.clamp, kernels["clamp"], kernels.get_function("clamp", True)):
        assert str(inspect.signature(function)) == (
            "(_0: 'float', _1: 'float', _2: 'float', /) -> 'float'"
        )
        assert function.__doc__ == "Return x, or the bound it lies beyond."
        assert function.__name__ == "clamp"
    assert kernels.clamp(5.0, 0.0, 1.0) == 1.0


def test_a_library_function_without_metadata_has_no_signature(kernels):
    assert kernels.count.__doc__ is None
    assert not hasattr(kernels.count, "__signature__")
    # This function has metadata without a type schema.
    assert kernels.echo.__doc__ == "Return the argument."
    assert not hasattr(kernels.echo, "__signature__")


def test_global_function_shows_the_schema_it_was_registered_with():
    to_text = tvm_ffi.get_global_func("ffi.json.Stringify")
    assert str(inspect.signature(to_text)) == "(_0: 'Any', _1: 'int | None', /) -> 'str'"
    assert to_text.__name__ == "ffi.json.Stringify"
    assert not hasattr(tvm_ffi.get_global_func("ffi.Array"), "__signature__")  # takes anything


def test_registered_python_function_keeps_signature_and_documentation():
    try:
        registered = tvm_ffi.register_global_func("test.signature.scale", scale)
        for function in (registered, tvm_ffi.get_global_func("test.signature.scale")):
            assert inspect.signature(function) == inspect.signature(scale)
            assert function.__doc__ == "Multiply and add."
            assert function.__name__ == "test.signature.scale"
    finally:
        tvm_ffi.remove_global_func("test.signature.scale")


def test_a_replaced_global_function_does_not_show_the_signature_of_its_successor(kernels):
    name = "test.signature.replaced"
    try:
        tvm_ffi.register_global_func(name, kernels["count"])
        before = tvm_ffi.get_global_func(name)
        tvm_ffi.register_global_func(name, scale, override=True)
        assert not hasattr(before, "__signature__")
        assert before.__doc__ is None
    finally:
        tvm_ffi.remove_global_func(name)


def test_all_wrappers_of_a_function_show_the_same_signature(kernels, echo):
    again = echo(kernels["clamp"])
    assert again.__name__ == "clamp"
    assert again.__doc__ == "Return x, or the bound it lies beyond."
    assert inspect.signature(again) == inspect.signature(kernels.clamp)


def test_a_function_from_an_address_has_no_name_or_signature(kernel_library):
    symbol = ctypes.CDLL(str(kernel_library)).__getattr__("__tvm_ffi_clamp")
    function = Function.__from_extern_c__(ctypes.cast(symbol, ctypes.c_void_p).value)
    assert not hasattr(function, "__name__")
    assert not hasattr(function, "__signature__")
    assert function.__doc__ is None


def test_name_and_documentation_can_be_set(scaled):
    scaled.__name__ = "renamed"
    scaled.__doc__ = "Another text."
    scaled.__signature__ = inspect.Signature()
    assert scaled.__name__ == "renamed"
    assert scaled.__doc__ == "Another text."
    assert str(inspect.signature(scaled)) == "()"
    scaled.__doc__ = None
    assert scaled.__doc__ == "Multiply and add."


def test_the_class_keeps_its_own_documentation():
    assert Function.__doc__.startswith("A function that any language can call.")
    with pytest.raises(AttributeError, match="'Function' object has no attribute 'other'"):
        Function().other  # noqa: B018


def test_a_subclass_that_overrides_call_shows_its_own_signature(scaled):
    class Doubling(Function):
        def __call__(self, only):
            return super().__call__(only, only)

    function = Doubling()
    function.__move_handle_from__(scaled)
    assert str(inspect.signature(function)) == "(only)"


SCHEMAS = {
    '{"type":"ffi.Function","named_args":{"return":[{"type":"None"}],"params":[]}}': (
        "() -> 'None'"
    ),
    '{"type":"ffi.Function","args":[{"type":"int"},{"type":"ffi.String"}]}': (
        "(_0: 'str', /) -> 'int'"  # the earlier form: the result's type is first
    ),
    '{"type":"ffi.Function","named_args":{"return":[{"type":"Tuple","args":[{"type":"int"},'
    '{"type":"bool"}]}],"params":[{"type":"ffi.Map","args":[{"type":"ffi.String"},'
    '{"type":"ffi.Array","args":[{"type":"ffi.Tensor"}]}]},{"type":"Variant","args":'
    '[{"type":"DataType"},{"type":"Device"}]},{"type":"ffi.Function","named_args":{"return":'
    '[{"type":"int"}],"params":[{"type":"void*"}]}},{"type":"ffi.Function"},'
    '{"type":"my.Type"}]}}': (
        "(_0: 'Map[str, Array[Tensor]]', _1: 'dtype | Device', "
        "_2: 'Callable[[ctypes.c_void_p], int]', _3: 'Callable[..., Any]', _4: 'my.Type', /) "
        "-> 'tuple[int, bool]'"
    ),
}


@pytest.mark.parametrize(("schema", "expected"), SCHEMAS.items(), ids=["empty", "early", "rich"])
def test_schemas_as_signatures(schema, expected):
    assert str(signature_of_metadata_text(json.dumps({"type_schema": schema}))) == expected


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        "",
        "{}",
        "[]",
        "not json",
        '{"type_schema": 3}',
        '{"type_schema": "not json"}',
        '{"type_schema": "{\\"type\\":\\"int\\"}"}',
        '{"type_schema": "{\\"type\\":\\"ffi.Function\\"}"}',
        '{"type_schema": "{\\"type\\":\\"ffi.Function\\",\\"named_args\\":{}}"}',
        json.dumps(
            {"type_schema": '{"type":"ffi.Function","named_args":{"return":[],"params":[]}}'}
        ),
        '{"type_schema": ' + json.dumps("[" * 100_000) + "}",
    ],
    ids=range(12),
)
def test_metadata_without_a_schema_have_no_signature(metadata):
    assert signature_of_metadata_text(metadata) is None


# ---- Keyword arguments ---------------------------------------------------------------------------


def test_keyword_arguments_reach_python_callables(scaled, echo):
    for function in (scaled, echo(scaled)):
        assert function(1.0, by=3.0) == "3.0 () {}"
        assert function(by=3.0, x=1.0) == "3.0 () {}"
        assert function(1.0, offset=5) == "7.0 () {}"
        assert function(1.0, 2.0, "a", unit="m") == "2.0 ('a',) {'unit': 'm'}"
        assert Function.__call__(function, 1.0, by=4.0) == "4.0 () {}"


def test_keyword_arguments_are_converted_like_positional_ones():
    seen = []

    def record(**values):
        seen.append({name: type(value) for name, value in values.items()})

    tvm_ffi.convert_func(record)(a=[1], b={"k": 1}, c=np.zeros(2), d="text", e=None, f=2**70)
    assert seen == [
        {
            "a": tvm_ffi.Array,
            "b": tvm_ffi.Map,
            "c": tvm_ffi.Tensor,
            "d": str,
            "e": type(None),
            "f": int,
        }
    ]


@pytest.mark.parametrize("count", [1, 8, 9, 300])
def test_any_number_of_keyword_arguments(count):
    function = tvm_ffi.convert_func(lambda *args, **names: [len(args), len(names)])
    names = {f"name{i}": f"a text on the heap {i}" for i in range(count)}
    assert list(function(1, 2, **names)) == [2, count]


@pytest.mark.parametrize(
    ("args", "names"),
    [
        pytest.param((), {}, id="missing"),
        pytest.param((), {"b": 1}, id="missing-one-of-two"),
        pytest.param((1,), {"a": 2}, id="twice"),
        pytest.param((1, 2), {"z": 2}, id="unknown"),
        pytest.param((1, 2, 3), {}, id="too-many"),
    ],
)
def test_argument_errors_match_those_of_python(args, names):
    def two(a, b):
        return a, b

    with pytest.raises(TypeError) as expected:
        two(*args, **names)
    with pytest.raises(TypeError) as caught:
        tvm_ffi.convert_func(two)(*args, **names)
    assert str(caught.value) == str(expected.value)


def test_keywords_for_unnamed_parameters_are_a_type_error(kernels):
    message = (
        r"\(\) got an unexpected keyword argument 'x': the function has no signature, so its "
        "parameters have no names; pass the argument by position, or declare a signature"
    )
    with pytest.raises(TypeError, match=f"^clamp{message}"):
        kernels.clamp(1.0, 2.0, x=3.0)
    with pytest.raises(TypeError, match=f"^<function at 0x0>{message}"):
        Function()(x=1)


def test_a_call_without_keywords_is_positional(kernels):
    assert kernels.count(*(1, 2)) == 2


def test_the_error_names_the_argument_that_cannot_be_passed(scaled):
    with pytest.raises(TypeError, match=r"argument 'by' when calling `scale`"):
        scaled(1.0, offset=1, by=np.zeros(2, object))
    with pytest.raises(TypeError, match=r"argument #0 when calling `scale`"):
        scaled(np.zeros(2, object), by=1)


def test_the_exception_of_a_keyword_call_is_the_same_object():
    original = LookupError("inside")

    def fail(**names):
        raise original

    with pytest.raises(LookupError) as caught:
        tvm_ffi.convert_func(fail)(a=1)
    assert caught.value is original
    assert [entry.name for entry in caught.traceback][-1] == "fail"


def test_keyword_calls_return_framework_tensors():
    torch = pytest.importorskip("torch")
    function = tvm_ffi.convert_func(lambda x, *, y: y)
    given = torch.arange(3)
    assert function(given, y=given) is given


def test_a_keyword_call_releases_its_arguments():
    class Value:
        pass

    value = Value()
    alive = weakref.ref(value)
    function = tvm_ffi.convert_func(lambda **names: None)
    function(a=value, b=[value])
    with pytest.raises(TypeError):
        function(value, a=value)
    del value
    assert alive() is None


def test_sentinels_are_passed_as_ordinary_values(echo):
    """`/` and `*` separate and mark parameters of constructors only."""
    for sentinel in (core.MISSING, core.KWARGS):
        assert echo(sentinel).same_as(sentinel)
    function = tvm_ffi.convert_func(lambda *args: len(args))
    assert function(1, core.KWARGS, "a", 2) == 4


# ---- repr and help -------------------------------------------------------------------------------


def test_repr_shows_name_and_signature(kernels):
    assert repr(kernels.clamp) == (
        "<tvm_ffi.Function clamp(_0: float, _1: float, _2: float, /) -> float>"
    )
    assert repr(tvm_ffi.get_global_func("ffi.json.Stringify")) == (
        "<tvm_ffi.Function ffi.json.Stringify(_0: Any, _1: int | None, /) -> str>"
    )
    assert repr(tvm_ffi.convert_func(scale)) == (
        "<tvm_ffi.Function scale(x, by: float = 2.0, *more, offset=0, **labels)>"
    )
    assert repr(kernels.count) == "<tvm_ffi.Function count>"


def test_repr_of_a_function_from_an_address(kernel_library):
    symbol = ctypes.CDLL(str(kernel_library)).__getattr__("__tvm_ffi_clamp")
    function = Function.__from_extern_c__(ctypes.cast(symbol, ctypes.c_void_p).value)
    assert repr(function) == "ffi.Function"
    assert tvm_ffi.get_global_func("ffi.ReprPrint")(function) == "ffi.Function"


def test_text_of_a_subclass_names_it():
    class Own(Function):
        pass

    function = Own()
    function.__move_handle_from__(tvm_ffi.convert_func(scale))
    assert repr(function).startswith(f"<{__name__}.test_text_of_a_subclass_names_it.<locals>.Own ")


def test_repr_survives_a_signature_whose_repr_raises(kernels):
    function = kernels.get_function("count")

    class Broken:
        def __repr__(self):
            raise RuntimeError

    function.__signature__ = inspect.Signature(return_annotation=Broken())
    assert repr(function) == "ffi.Function"


def test_help_shows_signature_and_documentation(kernels):
    text = pydoc.render_doc(kernels.clamp, renderer=pydoc.plaintext)
    assert "clamp(_0: float, _1: float, _2: float, /) -> float" in text
    assert "Return x, or the bound it lies beyond." in text
    assert "__from_extern_c__" not in text  # help() shows the function, not the class of functions


def test_help_of_a_function_without_documentation_shows_its_signature():
    function = tvm_ffi.get_global_func("ffi.json.Stringify")
    assert function.__doc__ == "ffi.json.Stringify(_0: Any, _1: int | None, /) -> str"
    text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    assert "ffi.json.Stringify(_0: Any, _1: int | None, /) -> str" in text
    assert "__from_extern_c__" not in text


def test_functions_have_a_module(kernels):
    """Regression: AttributeError, although `Function.__name__` and `__doc__` have values."""

    def callback():
        pass

    assert kernels.count.__module__ == "tvm_ffi"
    assert tvm_ffi.convert(callback).__module__ == __name__
    assert tvm_ffi.Function.__module__ == "tvm_ffi.core"
    assert functools.wraps(kernels.count)(lambda: None).__module__ == "tvm_ffi"
