# SPDX-License-Identifier: Apache-2.0
"""`make_kwargs_wrapper`: keyword arguments for functions that take positional arguments."""

from __future__ import annotations

import gc
import inspect
import keyword
import sysconfig
import weakref
from dataclasses import dataclass
from inspect import Parameter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvm_ffi.core import MISSING
from tvm_ffi.utils import kwargs_wrapper
from tvm_ffi.utils.kwargs_wrapper import make_kwargs_wrapper, make_kwargs_wrapper_from_signature


def target(*args):
    return args


@dataclass
class Point:
    x: int
    y: int


def test_the_target_is_called_by_position():
    f = make_kwargs_wrapper(
        target, ["a", "b", "c"], (None, [1]), ["k", "l", "m"], {"l": True, "m": 5}
    )
    assert f(1, k=2) == (1, None, [1], 2, True, 5)
    assert f(1, 2, 3, m=6, l=5, k=4) == (1, 2, 3, 4, 5, 6)
    assert f(c=3, a=1, k=4) == (1, None, 3, 4, True, 5)
    assert str(inspect.signature(f)) == "(a, b=None, c=<MISSING>, *, k, l=True, m=<MISSING>)"
    assert f.__name__ == "wrapper"


def test_defaults_are_passed_as_the_same_objects():
    default = [1]
    f = make_kwargs_wrapper(target, ["a"], (default,), ["k"], {"k": default})
    for arguments in (f(), f(MISSING, k=MISSING)):
        assert arguments[0] is default
        assert arguments[1] is default
    assert make_kwargs_wrapper(target, ["a"])(MISSING) == (MISSING,)
    assert kwargs_wrapper.MISSING is MISSING


@pytest.mark.parametrize("default", [None, True, False])
def test_constant_defaults_are_shown_in_the_signature(default):
    f = make_kwargs_wrapper(target, ["a"], (default,))
    assert inspect.signature(f).parameters["a"].default is default
    assert f()[0] is default


@pytest.mark.parametrize("default", [0, 1, "None", 1.0, (), MISSING, Parameter.empty])
def test_other_defaults_are_shown_as_missing(default):
    f = make_kwargs_wrapper(target, ["a"], (default,))
    assert inspect.signature(f).parameters["a"].default is MISSING
    assert f()[0] is default


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {"k": 1}, r"missing 1 required positional argument: 'a'"),
        ((1,), {}, r"missing 1 required keyword-only argument: 'k'"),
        ((1, 2, 3), {"k": 1}, r"takes from 1 to 2 positional arguments but 3"),
        ((1,), {"k": 1, "z": 1}, r"got an unexpected keyword argument 'z'"),
        ((1,), {"k": 1, "a": 1}, r"got multiple values for argument 'a'"),
    ],
)
def test_wrong_calls(args, kwargs, message):
    f = make_kwargs_wrapper(target, ["a", "b"], (2,), ["k"])
    with pytest.raises(TypeError, match=rf"wrapper\(\) {message}"):
        f(*args, **kwargs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arg_names": ["a", "a"]}, r"Duplicate argument names found in: \['a', 'a'\]"),
        (
            {"arg_names": [], "kwonly_names": ["b", "b"]},
            r"Duplicate keyword-only argument names found in: \['b', 'b'\]",
        ),
        (
            {"arg_names": ["a"], "kwonly_names": ["a"]},
            "Arguments cannot be both positional and keyword-only: {'a'}",
        ),
        (
            {"arg_names": ["class"]},
            "^Invalid argument name: 'class' is a Python keyword and cannot be used as a param",
        ),
        ({"arg_names": ["__debug__"]}, "Invalid argument name: '__debug__' is a Python keyword"),
        (
            {"arg_names": [], "kwonly_names": ["if"]},
            "Invalid keyword-only argument name: 'if' is a Python keyword",
        ),
        ({"arg_names": ["1a"]}, "Invalid argument name: '1a' is not a valid Python identifier"),
        ({"arg_names": [""]}, "Invalid argument name: '' is not a valid Python identifier"),
        ({"arg_names": ["__i_target"]}, "'__i_target'; names that begin with __i_ are reserved"),
        (
            {"arg_names": ["a"], "arg_defaults": (1, 2)},
            "arg_defaults has 2 values but only 1 positional arguments",
        ),
        (
            {"arg_names": ["a"], "kwonly_names": ["b"], "kwonly_defaults": {"c": 1}},
            r"Default provided for 'c' which is not in kwonly_names: \['b'\]",
        ),
    ],
)
def test_arguments_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_kwargs_wrapper(target, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arg_names": [3]}, "Argument name must be a string, got int: 3"),
        ({"arg_names": ["a"], "arg_defaults": [1]}, "arg_defaults must be a tuple, got list"),
        ({"arg_names": ["a"], "arg_defaults": None}, "arg_defaults must be a tuple, got NoneType"),
        ({"arg_names": ["a"], "kwonly_defaults": [("a", 1)]}, "kwonly_defaults must be a dict"),
        ({"arg_names": ["a"], "prototype": 3}, "prototype must be callable, got int"),
        ({"arg_names": ["a"], "target_func": 3}, "target_func must be callable, got int"),
    ],
)
def test_arguments_of_wrong_types(arguments, message):
    with pytest.raises(TypeError, match=message):
        make_kwargs_wrapper(**{"target_func": target, **arguments})


# These strings would run code if they were compiled as names.
INJECTIONS = [
    "a=1",
    "a, b",
    "*a",
    "a: print()",
    "a)\n    import os\ndef wrapper(b",
    "a=__import__('os')",
    "a\n",
    " a",
    "a#",
    "\u2028a",
    "a\0",
    "λ ",
]


@pytest.mark.parametrize("name", INJECTIONS + keyword.kwlist)
def test_invalid_names_are_not_compiled(name):
    for arguments in (
        {"arg_names": [name]},
        {"arg_names": ["a"], "kwonly_names": [name]},
        {"arg_names": ["a", name], "arg_defaults": (1,)},
    ):
        with pytest.raises(ValueError, match="Invalid"):
            make_kwargs_wrapper(target, **arguments)
    # Names of dataclass parameters are compared, but never compiled.
    f = make_kwargs_wrapper(target, ["b"], map_dataclass_to_tuple=[name])
    assert f(Point(1, 2)) == (Point(1, 2),)


class Hostile:
    """A default value whose `repr` would run code if it were compiled."""

    def __repr__(self):
        return "__import__('os').abort()"

    def __eq__(self, other):
        return True

    __hash__ = None


def test_defaults_are_neither_printed_nor_compared():
    default = Hostile()
    f = make_kwargs_wrapper(target, ["a"], (default,), ["k"], {"k": default})
    assert f()[0] is default
    assert f()[1] is default


def test_builtins_globals_and_soft_keywords_are_valid_names():
    names = [
        "wrapper",
        "MISSING",
        "target",
        "len",
        "print",
        "match",
        "type",
        "self",
        "cls",
        "_",
        "ä",
    ]
    f = make_kwargs_wrapper(target, names, tuple(range(100, 100 + len(names))))
    assert f() == tuple(range(100, 100 + len(names)))
    assert f(*names) == tuple(names)


def test_names_are_compared_in_normalized_form():
    ligature = "\ufb01"  # Python normalizes the ligature to "fi"
    assert make_kwargs_wrapper(target, [ligature], (5,))(fi=1) == (1,)
    with pytest.raises(ValueError, match="Duplicate"):
        make_kwargs_wrapper(target, ["fi", ligature])
    with pytest.raises(ValueError, match="both positional and keyword-only"):
        make_kwargs_wrapper(target, ["fi"], kwonly_names=[ligature])


def test_prototypes():
    def prototype(a: int, b: str = "x", *, c: float = 1.0) -> bool:
        """Say what it does."""

    f = make_kwargs_wrapper(target, ["a", "b"], ("x",), ["c"], {"c": 1.0}, prototype=prototype)
    assert (f.__name__, f.__doc__, f.__module__) == ("prototype", "Say what it does.", __name__)
    assert f.__annotations__ == prototype.__annotations__
    assert f.__wrapped__ is prototype
    assert inspect.signature(f) == inspect.signature(prototype)
    assert f(1) == (1, "x", 1.0)
    assert make_kwargs_wrapper(target, ["a"], prototype=len).__name__ == "len"


def test_selected_dataclass_arguments_become_tuples():
    f = make_kwargs_wrapper(
        target, ["a", "b"], (Point(3, 4),), ["k"], {"k": Point(5, 6)}, None, ["b", "k", "z"]
    )
    assert f(Point(1, 2)) == (Point(1, 2), (3, 4), (5, 6))
    assert f(1, [Point(7, 8)], k={"p": Point(9, 9)}) == (1, [(7, 8)], {"p": (9, 9)})


def test_signatures():
    def declared(a, b=2, /, c=3, *, d, e=5): ...

    signature = inspect.signature(declared)
    f = make_kwargs_wrapper_from_signature(target, signature)
    assert str(inspect.signature(f)) == "(a, b=<MISSING>, c=<MISSING>, *, d, e=<MISSING>)"
    assert f(1, d=4) == f(a=1, d=4) == (1, 2, 3, 4, 5)
    f = make_kwargs_wrapper_from_signature(target, signature, exclude_arg_names=["b", "e", "z"])
    assert f(1, d=4) == (1, 3, 4)
    f = make_kwargs_wrapper_from_signature(target, signature, prototype=declared)
    assert f.__name__ == "declared"
    for rest, name in ((lambda *a: 0, r"\*args"), (lambda **a: 0, r"\*\*kwargs")):
        with pytest.raises(ValueError, match=rf"^{name} not supported in wrapper generation$"):
            make_kwargs_wrapper_from_signature(target, inspect.signature(rest))
    f = make_kwargs_wrapper_from_signature(
        target, inspect.signature(lambda a, *args: 0), exclude_arg_names=["args"]
    )
    assert f(1) == (1,)


def test_a_released_wrapper_releases_its_target():
    class Callee:
        def __call__(self, *args):
            return args

    callee = Callee()
    f = make_kwargs_wrapper(callee, ["a"])
    alive = weakref.ref(callee)
    assert f(1) == (1,)
    gc.disable()
    try:
        del f, callee
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            gc.collect()  # free-threaded Python releases the functions only in this call
        assert alive() is None
    finally:
        gc.enable()


# ---- comparison with Python functions --------------------------------------------------------

NAMES = ["a", "b", "c", "d", "e", "f"]
DEFAULTS = st.sampled_from([Parameter.empty, None, True, False, 0, "text", (1,)])


@st.composite
def signatures(draw):
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    num_positional = draw(st.integers(0, len(names)))
    num_required = draw(st.integers(0, num_positional))
    given_defaults = st.sampled_from([None, True, False, 0, "text", (1,)])
    parameters = []
    for i, name in enumerate(names):
        kind = Parameter.POSITIONAL_OR_KEYWORD if i < num_positional else Parameter.KEYWORD_ONLY
        if i < num_required:
            default = Parameter.empty
        else:
            default = draw(given_defaults if i < num_positional else DEFAULTS)
        parameters.append(Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


@given(
    signatures(),
    st.lists(st.integers(), max_size=5),
    st.dictionaries(st.sampled_from([*NAMES, "z"]), st.none() | st.integers(), max_size=6),
)
def test_binds_arguments_as_python_does(signature, args, kwargs):
    f = make_kwargs_wrapper_from_signature(target, signature)
    made = inspect.signature(f)
    assert list(made.parameters) == list(signature.parameters)
    assert [p.kind for p in made.parameters.values()] == [
        p.kind for p in signature.parameters.values()
    ]
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        with pytest.raises(TypeError, match=r"wrapper\(\)"):
            f(*args, **kwargs)
        return
    bound.apply_defaults()
    assert f(*args, **kwargs) == tuple(bound.arguments.values())


ALMOST_NAMES = st.text("ab_1=,*: \n(", max_size=3) | st.text(max_size=6)


@given(ALMOST_NAMES, ALMOST_NAMES)
def test_any_string_is_accepted_or_refused(positional, kwonly):
    try:
        f = make_kwargs_wrapper(target, [positional], (), [kwonly], {kwonly: 5})
    except ValueError:
        return
    assert f(1) == (1, 5)
    assert positional.isidentifier()
    assert kwonly.isidentifier()
