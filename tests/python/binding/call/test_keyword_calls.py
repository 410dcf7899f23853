# SPDX-License-Identifier: Apache-2.0
"""Calls of native functions with a signature: keyword arguments, defaults, conversions."""

from __future__ import annotations

import gc
import inspect
import sys
import time
import warnings
from pathlib import PurePosixPath

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi._binding.call import signature_lookup
from tvm_ffi._binding.object import hooks
from tvm_ffi.signature import Parameter, Signature, ValueType

UNKNOWN = "softmax() got an unexpected keyword argument 'tmperature'; did you mean 'temperature'?"


def shown(array):
    return list(array)


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "expected"),
    [
        ("softmax", (1, 2), {}, [1, 2, 1.0]),
        ("softmax", (1, 2, 0.5), {}, [1, 2, 0.5]),
        ("softmax", (1, 2), {"temperature": 0.5}, [1, 2, 0.5]),
        ("softmax", (), {"temperature": 2, "y": 2, "x": 1}, [1, 2, 2.0]),
        ("named", (1, 2), {"d": 4}, [1, 2, 3, 4, "x"]),
        ("named", (1,), {"d": 4, "e": "z", "b": 5}, [1, 5, 3, 4, "z"]),
        ("collecting", (1,), {}, [1, 2, 4]),
        ("collecting", (1, 2, 3, 4), {"c": 5}, [1, 2, 3, 4, 5]),
        ("collecting", (), {"a": 1, "c": 5}, [1, 2, 5]),
        ("collecting", tuple(range(40)), {}, [*range(40), 4]),
        ("wide", tuple(range(7)), {}, [*range(7), 8, 9, 10]),
        ("wide", tuple(range(6)), {"j": 1, "g": 0}, [*range(6), 0, 8, 9, 1]),
        ("nameless", (), {"x": 1}, [1]),
        ("scalars", (1,), {"y": 2}, [1.0, 2]),
    ],
)
def test_arguments_are_bound_to_parameters(kernels, name, args, kwargs, expected):
    got = shown(kernels[name](*args, **kwargs))
    assert got == expected
    assert [type(value) for value in got] == [type(value) for value in expected]


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "text"),
    [
        ("softmax", (), {}, "softmax() missing 2 required positional arguments: 'x' and 'y'"),
        ("softmax", (1,), {}, "softmax() missing 1 required positional argument: 'y'"),
        (
            "softmax",
            (1, 2, 3, 4),
            {},
            "softmax() takes from 2 to 3 positional arguments but 4 were given",
        ),
        (
            "named",
            (1, 2, 3, 4, "x"),  # as many defaults as there are parameters
            {},
            "named() takes from 2 to 3 positional arguments but 5 were given",
        ),
        ("softmax", (1, 2), {"x": 3}, "softmax() got multiple values for argument 'x'"),
        (
            "softmax",
            (1, 2),
            {"tmperature": 3},
            UNKNOWN,
        ),
        ("softmax", (1, 2), {"q": 3}, "softmax() got an unexpected keyword argument 'q'"),
        ("named", (1, 2), {}, "named() missing 1 required keyword-only argument: 'd'"),
        (
            "named",
            (),
            {"a": 1, "b": 1, "d": 1},
            "named() got positional-only argument 'a' as a keyword argument",
        ),
        (
            "named",
            (1, 2, 3, 4),
            {"d": 1},
            "named() takes from 2 to 3 positional arguments but 4 were given",
        ),
        ("nameless", (1, 2), {}, "nameless() takes 1 positional argument but 2 were given"),
        ("collecting", (), {"c": 1}, "collecting() missing 1 required positional argument: 'a'"),
    ],
)
def test_arguments_without_a_parameter_are_refused(kernels, name, args, kwargs, text):
    for _ in range(2):
        with pytest.raises(TypeError) as caught:
            kernels[name](*args, **kwargs)
        assert str(caught.value) == text


def test_keyword_names_need_not_be_interned(kernels):
    name = "".join(["temp", "erature"])
    assert name is not sys.intern("temperature")
    assert shown(kernels.softmax(1, 2, **{name: 3.0})) == [1, 2, 3.0]


def test_declared_types_convert(kernels):
    number, path, numbers = kernels.converted(1, PurePosixPath("/a/b"), [1, 2.5])
    assert (number, type(number), path) == (1.0, float, "/a/b")
    assert [type(value) for value in numbers] == [float, float]
    assert shown(kernels.converted(None, "x"))[:2] == [None, "x"]
    assert [float(value) for value in kernels.converted(None, "x")[2]] == [1.0, 2.0]


def test_containers_convert_before_the_module_of_type_conversions_is_imported(run_python):
    """Regression: the conversion hook was set by a module that the program had not imported."""
    program = (
        "import sys, tvm_ffi\n"
        "call = tvm_ffi.load_module(sys.argv[1]).converted\n"
        "print(list(call(None, 'x', [3, 4])[2]))"
    )
    result = run_python(program)
    assert (result.stdout, result.stderr) == ("[3.0, 4.0]\n", "")


def test_values_of_other_types_are_refused(kernels):
    with pytest.raises(TypeError) as caught:
        kernels.converted("no number", "x", ())
    assert str(caught.value) == "converted() argument 'number': expected float | None, got str"
    with pytest.raises(TypeError) as caught:
        kernels.converted(1, 5, ())
    assert str(caught.value) == "converted() argument 'path': expected str, got int"


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((1, "x", [1, "a"]), TypeError, "converted() argument 'numbers': type conversion failed"),
        ((10**400, "x"), OverflowError, "converted() argument 'number': int too large"),
    ],
)
def test_conversions_that_fail(kernels, args, error, text):
    with pytest.raises(error) as caught:
        kernels.converted(*args)
    assert str(caught.value).startswith(text)


class _Refused(ValueError):
    def __init__(self, code, text):
        super().__init__(code, text)


class _Mute(TypeError):
    def __str__(self):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), id="unicode"),
        pytest.param(_Refused(1, "no"), id="two-arguments"),
        pytest.param(_Mute(), id="mute"),
        pytest.param(ZeroDivisionError("division"), id="other"),
    ],
)
def test_an_exception_raised_in_a_conversion_is_the_same_object(kernels, error):
    """Regression: a copy of the exception was raised; a class without copies gave SystemError."""

    class Path:
        def __fspath__(self):
            raise error

    with pytest.raises(type(error)) as caught:
        kernels.converted(1, Path())
    assert caught.value is error
    if hasattr(error, "__notes__"):
        assert error.__notes__ == ["While converting converted() argument 'path'"]


def test_defaults_of_dtypes_and_devices(kernels):
    dtype, device = kernels.others()
    assert (dtype, device) == (tvm_ffi.dtype("float16"), tvm_ffi.device("cuda:1"))


def test_a_default_is_not_changed_by_a_call(kernels):
    first = kernels.converted(None, "x")[2]
    assert list(first) == [1.0, 2.0]
    assert kernels.converted(None, "x")[2].same_as(first)


def test_packing_errors_name_the_parameter(kernels):
    with pytest.raises(TypeError, match="argument 'temperature' when calling `softmax`"):
        kernels.softmax(1, 2, temperature=np.array(["text"]))
    with pytest.raises(TypeError, match="argument 'x' when calling `softmax`"):
        kernels.softmax(np.array(["text"]), 2)
    with pytest.raises(TypeError, match="argument #2 when calling `collecting`"):
        kernels.collecting(1, 2, np.array(["text"]))


def test_functions_from_every_lookup_accept_keywords(kernels, kernel_library):
    for function in (
        kernels.softmax,
        kernels["softmax"],
        kernels.get_function("softmax"),
        tvm_ffi.load_module(kernel_library)["softmax"],
        tvm_ffi.convert([kernels.softmax])[0],
    ):
        assert shown(function(1, y=2)) == [1, 2, 1.0]


def test_global_functions_take_positional_arguments(kernels):
    tvm_ffi.register_global_func("test_keyword_calls.softmax", kernels.softmax, override=True)
    found = tvm_ffi.get_global_func("test_keyword_calls.softmax")
    try:
        # The registration has no metadata; only the module's metadata describes the function.
        assert shown(kernels.softmax(1, y=2)) == [1, 2, 1.0]
        assert shown(found(1, 2, 3)) == [1, 2, 3]
    finally:
        tvm_ffi.registry.remove_global_func("test_keyword_calls.softmax")


@pytest.mark.parametrize("replaced_by", ["nothing", "another"])
@pytest.mark.parametrize("accessed", ["call", "__signature__"])
def test_a_global_function_may_be_removed_during_the_signature_lookup(
    kernels, monkeypatch, replaced_by, accessed
):
    """Another thread removes or replaces the global function before its metadata is read."""
    name, find = "test_keyword_calls.goes", signature_lookup.find_global_func
    tvm_ffi.register_global_func(name, kernels["count"], signature="(x: int, y: int = 7)")
    function = tvm_ffi.get_global_func(name)

    def find_late(requested):
        if requested == "ffi.GetGlobalFuncMetadata":
            if replaced_by == "nothing":
                tvm_ffi.registry.remove_global_func(name)
            else:
                tvm_ffi.register_global_func(
                    name, kernels["unsigned_"], signature="(other: str)", override=True
                )
        return find(requested)

    monkeypatch.setattr(signature_lookup, "find_global_func", find_late)
    try:
        if accessed == "call":
            assert function(1, 2) == 2
        else:
            assert not hasattr(function, "__signature__")
    finally:
        monkeypatch.undo()
        if replaced_by == "another":
            tvm_ffi.registry.remove_global_func(name)


def test_functions_without_a_signature_take_no_names(kernels):
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        kernels.unsigned_(x=1)
    assert shown(kernels.unsigned_(1, 2, 3)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wrong_text", "expected '\\]'"),
        ("wrong_json", "the metadata is not JSON: Expecting value"),
        ("wrong_member", "member 'signature' of the metadata must be a str, got int"),
        ("wrong_kind", "expected a JSON object, got list"),
        ("raising", "ValueError: no metadata today"),
    ],
)
def test_damaged_metadata_cause_a_warning(kernels, name, text):
    function = kernels.get_function(name)
    with pytest.warns(RuntimeWarning, match=f"the metadata of function '{name}' .*{text}"):
        assert shown(function(1)) == [1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert shown(function(1, 2)) == [1, 2]
        assert shown(kernels.get_function(name)(1, 2)) == [1, 2]
        assert not hasattr(function, "__signature__")  # the form that inspect expects
    with pytest.raises(TypeError, match="unexpected keyword"):
        function(x=1)


def test_signature_and_documentation_of_a_library_function(kernels):
    assert str(inspect.signature(kernels.named)) == (
        "(a: 'int', /, b: 'int', c: 'int' = 3, *, d: 'int', e: 'str' = 'x') -> 'None'"
    )
    # `help` also shows argument restrictions, which inspect.signature cannot express.
    assert kernels.named.__doc__ == (
        "Names.\n\nnamed(a: int, /, b: int, c: int = 3, *, d: int, e: str = 'x')"
    )
    assert kernels.reading.__doc__ == "reading(x: Tensor, y: out Tensor, z: unknown Tensor)"


def test_non_blocking_functions_keep_the_gil(kernels):
    assert kernels.get_function("blocking").release_gil
    quick = kernels.get_function("quick")
    assert not quick.release_gil
    chosen = kernels.get_function("quick")
    chosen.release_gil = True
    chosen()
    assert chosen.release_gil
    quick()
    assert not quick.release_gil


def test_copies_of_functions_accept_keywords(kernels):
    class Named(tvm_ffi.Function):
        pass

    made = tvm_ffi._binding.call.function_of_class(Named, kernels.softmax, {"note": 1})
    assert made.note == 1
    assert shown(made(1, y=2)) == [1, 2, 1.0]


def test_calls_release_their_arguments(kernels):
    class Marker:
        alive = 0

        def __init__(self):
            Marker.alive += 1

        def __del__(self):
            Marker.alive -= 1

    for _ in range(3):
        kernels.softmax(Marker(), y=Marker())
        with pytest.raises(TypeError):
            kernels.softmax(Marker(), Marker(), x=Marker())
        with pytest.raises(TypeError):
            kernels.converted(1, Marker(), numbers=[Marker()])
    gc.collect()
    assert Marker.alive == 0


def test_a_hostile_argument_may_call_the_same_function_again(kernels):
    """The conversion of an argument runs user code that calls the function being called."""
    function = kernels.get_function("softmax")

    class Hostile:
        def __tvm_ffi_int__(self):
            function(1, y=2)
            gc.collect()
            return 7

    assert shown(function(Hostile(), y=2)) == [7, 2, 1.0]


@pytest.mark.parametrize("cls", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_signature_lookup_is_repeated_by_the_next_call(kernels, cls, monkeypatch):
    """Regression: later calls ignored the signature, and accepted too few arguments."""

    def interrupted(function, origin):
        raise cls

    function = kernels.get_function("softmax")
    with monkeypatch.context() as patch:
        patch.setattr(hooks, "signature_lookup", interrupted)
        with pytest.raises(cls):
            function(1, y=2)
    assert shown(function(1, y=2)) == [1, 2, 1.0]


def test_many_names_are_found_in_linear_time(kernel_library):
    """Regression: each name was compared with all parameters: six seconds for 10,000."""
    names = [f"p{index}" for index in range(10_000)]
    any_value = ValueType(tvm_ffi.core.TypeSchema("Any"))
    parameters = tuple(Parameter(name, any_value) for name in names)
    module = tvm_ffi.load_module(kernel_library, keep_module_alive=False)
    module.describe({"count": Signature(parameters, name="count")})
    values = {"".join([*name]): 0 for name in names}  # not interned
    assert module.count(**values) == len(names)
    start = time.perf_counter()
    assert module.count(**values) == len(names)
    assert time.perf_counter() - start < 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'p'"):
        module.count(**values, p=1)


def test_names_may_be_of_a_subclass_of_str(kernels):
    calls = []

    class Name(str):
        __slots__ = ()

        def __hash__(self):
            calls.append(self)
            return str.__hash__(self)

        def __eq__(self, other):
            calls.append(self)
            return str.__eq__(self, other)

    values = {Name("y"): 2, Name("x"): 1}
    calls.clear()
    assert shown(kernels.softmax(**values)) == [1, 2, 1.0]
    assert calls == []


class _EqualToAll(str):
    """A str that claims to be equal to every str with its hash."""

    __slots__ = ()

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class _EqualToNone(str):
    """A str that no dict finds."""

    __slots__ = ()

    def __eq__(self, other):
        return False

    def __hash__(self):
        return id(self)


@pytest.mark.parametrize("name_class", [str, _EqualToAll, _EqualToNone])
@pytest.mark.parametrize(
    ("args", "names", "problem"),
    [
        ((1, 2), ["z"], "got an unexpected keyword argument 'z'"),
        ((1, 2), ["y"], "got multiple values for argument 'y'"),
        ((1,), ["temperature"], "missing 1 required positional argument: 'y'"),
    ],
)
def test_binding_errors_compare_the_text_of_names(kernels, name_class, args, names, problem):
    """Regression: the message was "softmax() None" if the class of a name overrides `__eq__`."""
    with pytest.raises(TypeError) as caught:
        kernels.softmax(*args, **{name_class(name): 3 for name in names})
    assert str(caught.value) == f"softmax() {problem}"


def test_a_name_that_is_given_twice_is_an_error(kernels):
    """Regression: "softmax() None" for two names with one text and different hashes."""
    values = {_EqualToNone("y"): 1, "y": 2, "x": 3}
    with pytest.raises(TypeError, match=r"^softmax\(\) got multiple values for argument 'y'$"):
        kernels.softmax(**values)
