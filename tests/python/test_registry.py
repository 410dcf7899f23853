# SPDX-License-Identifier: Apache-2.0
"""The process-wide registry of global functions, and `init_ffi_api`."""

from __future__ import annotations

import ctypes
import functools
import sys
import types
import weakref

import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core, registry


@pytest.fixture
def register():
    """Return `register_global_func`; registered functions are removed after the test."""
    before = set(registry.list_global_func_names())
    yield tvm_ffi.register_global_func
    for name in set(registry.list_global_func_names()) - before:
        tvm_ffi.remove_global_func(name)


def test_registered_function_is_found(register):
    returned = register("test.add", lambda x, y: x + y)
    assert isinstance(returned, tvm_ffi.Function)
    assert returned(2, 3) == 5
    found = tvm_ffi.get_global_func("test.add")
    assert found(2, 3) == 5
    assert found.same_as(returned)
    assert found.__name__ == "test.add"


NAMES_OUTSIDE_UTF_8 = [b"f\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"g\xe2\x82"]


@pytest.mark.parametrize("name", NAMES_OUTSIDE_UTF_8, ids=repr)
def test_names_that_are_not_utf_8_are_refused_in_c(name):
    """Regression: after one such registration, `list_global_func_names` raised an exception."""
    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    function = tvm_ffi.convert(len)
    text = (ctypes.c_void_p * 2)(ctypes.cast(ctypes.c_char_p(name), ctypes.c_void_p), len(name))
    status = library.TVMFFIFunctionSetGlobal(text, ctypes.c_void_p(function.__chandle__()), 0)
    assert status == -1
    raised = ctypes.c_void_p()
    library.TVMFFIErrorMoveFromRaised(ctypes.byref(raised))
    assert raised.value is not None
    assert all(isinstance(listed, str) for listed in registry.list_global_func_names())


@pytest.mark.parametrize("name", ["f\udcff", "\ud800"], ids=ascii)
def test_names_with_surrogates_are_refused(name):
    message = "name of a function must be text that UTF-8 can encode, got "
    with pytest.raises(ValueError, match=message) as caught:
        tvm_ffi.register_global_func(name, len)
    assert str(caught.value).endswith(ascii(name))


def test_names_may_have_any_character_of_unicode(register):
    register("test.é\u20ac\U0010ffff", len)
    assert "test.é\u20ac\U0010ffff" in registry.list_global_func_names()


def test_register_as_a_decorator(register):
    @register("test.twice")
    def twice(x):
        return 2 * x

    assert isinstance(twice, tvm_ffi.Function)
    assert tvm_ffi.get_global_func("test.twice")(4) == 8


def test_register_under_its_own_name(register):
    @register
    def test_own_name(x):
        return x

    assert tvm_ffi.get_global_func("test_own_name")(4) == 4


def test_native_functions_can_be_registered(register, kernels):
    register("test.count", kernels.count)
    assert tvm_ffi.get_global_func("test.count")(1, 2) == 2


def test_duplicate_is_a_runtime_error(register):
    register("test.f", lambda: 1)
    with pytest.raises(RuntimeError, match=r"test\.f"):
        register("test.f", lambda: 2)
    assert tvm_ffi.get_global_func("test.f")() == 1


def test_override_replaces(register):
    register("test.f", lambda: 1)
    old = tvm_ffi.get_global_func("test.f")
    register("test.f", lambda: 2, override=True)
    assert tvm_ffi.get_global_func("test.f")() == 2
    assert old() == 1

    @register("test.f", override=True)
    def again():
        return 3

    assert tvm_ffi.get_global_func("test.f")() == 3


def test_missing_function_is_a_value_error():
    with pytest.raises(ValueError, match=r"Cannot find global function test\.none"):
        tvm_ffi.get_global_func("test.none")
    assert tvm_ffi.get_global_func("test.none", allow_missing=True) is None


def test_a_removed_function_can_still_be_called(register):
    register("test.f", lambda: 1)
    function = tvm_ffi.get_global_func("test.f")
    tvm_ffi.remove_global_func("test.f")
    assert tvm_ffi.get_global_func("test.f", allow_missing=True) is None
    assert function() == 1
    tvm_ffi.remove_global_func("test.f")  # no error
    register("test.f", lambda: 2)
    assert tvm_ffi.get_global_func("test.f")() == 2


def test_removed_function_releases_its_callable(register):
    class Owner:
        def __call__(self):
            return 1

    owner = Owner()
    alive = weakref.ref(owner)
    register("test.f", owner)
    del owner
    assert alive() is not None
    tvm_ffi.remove_global_func("test.f")
    assert alive() is None


def test_replaced_function_releases_its_callable(register):
    def first():
        return 1

    alive = weakref.ref(first)
    register("test.f", first)
    del first
    register("test.f", lambda: 2, override=True)
    assert alive() is None


@pytest.mark.parametrize("name", ["", "caf\u00e9", "with space", "a\0b", "x" * 10_000])
def test_any_string_is_a_valid_name(register, name):
    register(name, lambda: 7)
    assert tvm_ffi.get_global_func(name)() == 7
    assert name in registry.list_global_func_names()


def test_names_are_listed(register):
    assert "ffi.ModuleLoadFromFile" in registry.list_global_func_names()
    assert "test.listed" not in registry.list_global_func_names()
    register("test.listed", lambda: 1)
    names = registry.list_global_func_names()
    assert "test.listed" in names
    assert all(type(name) is str for name in names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("f", [3, "text", object()], ids=lambda f: type(f).__name__)
def test_registering_a_value_that_is_not_callable_is_a_type_error(register, f):
    with pytest.raises(TypeError, match="expected a callable"):
        register("test.f", f)
    assert tvm_ffi.get_global_func("test.f", allow_missing=True) is None


@pytest.mark.parametrize("name", [None, 3, b"bytes"], ids=repr)
def test_name_of_another_type_is_an_error(register, name):
    text = f"name of a function must be a str, got {type(name).__name__}"
    with pytest.raises(TypeError, match=text):
        register(name, lambda: 1)
    with pytest.raises(TypeError, match=text):
        tvm_ffi.get_global_func(name)


def test_name_with_a_lone_surrogate_is_a_unicode_error(register):
    with pytest.raises(UnicodeEncodeError, match="surrogates"):
        register("\ud800", lambda: 1)


def test_unencodable_documentation_registers_nothing(register):
    """Regression: the function was registered before its documentation was read."""
    with pytest.raises(ValueError, match="invalid escape sequence"):
        register("test.f", lambda: 1, signature=r"f() doc '\ud800'")
    assert tvm_ffi.get_global_func("test.f", allow_missing=True) is None


def test_metadata(register):
    assert tvm_ffi.get_global_func_metadata("ffi.ModuleGetKind")["type_schema"]
    register("test.f", lambda: 1)
    assert tvm_ffi.get_global_func_metadata("test.f") == {}
    with pytest.raises(RuntimeError, match=r"test\.none"):
        tvm_ffi.get_global_func_metadata("test.none")


def test_registered_types_are_listed():
    keys = registry.get_registered_type_keys()
    assert isinstance(keys, tvm_ffi.Array)
    assert {"ffi.Object", "ffi.Array", "ffi.Module"} <= set(keys)


def test_registration_functions_of_core(register):
    core._register_global_func("test.core", lambda: 5, False)
    assert core._get_global_func("test.core", False)() == 5
    assert core._get_global_func("test.none", True) is None
    with pytest.raises(RuntimeError, match=r"test\.core"):
        core._register_global_func("test.core", lambda: 6, override=False)


# ---- init_ffi_api ------------------------------------------------------------------------------


@pytest.fixture
def target(monkeypatch):
    module = types.ModuleType("test_target_of_init_ffi_api")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def public_names(module):
    return {name for name in vars(module) if not name.startswith("__")}


def test_functions_of_a_namespace_become_attributes(register, target):
    for name in ("test.ns.f", "test.ns.g", "test.ns.deeper.h", "test.nsx.i", "test.nsj", "test.ns"):
        register(name, lambda name=name: name)
    tvm_ffi.init_ffi_api("test.ns", target.__name__)
    assert public_names(target) == {"f", "g"}
    assert target.f() == "test.ns.f"
    assert target.f.__name__ == "f"


def test_a_leading_tvm_is_ignored(register, target):
    register("test.ns.f", lambda: 1)
    tvm_ffi.init_ffi_api("tvm.test.ns", target.__name__)
    assert public_names(target) == {"f"}


def test_target_is_the_namespace_by_default(register, target):
    register(f"{target.__name__}.f", lambda: 1)
    tvm_ffi.init_ffi_api(target.__name__)
    assert public_names(target) == {"f"}


def test_functions_removed_concurrently_are_skipped(register, target, monkeypatch):
    """Regression: a name was removed between the listing and its look-up; None was called."""
    for name in ("test.ns.f", "test.ns.g"):
        register(name, lambda: 1)
    find = registry.find_global_func

    def find_late(name):
        if name == "test.ns.f":
            tvm_ffi.remove_global_func(name)
        return find(name)

    monkeypatch.setattr(registry, "find_global_func", find_late)
    tvm_ffi.init_ffi_api("test.ns", target.__name__)
    assert public_names(target) == {"g"}


def test_target_that_is_not_imported_is_a_key_error():
    with pytest.raises(KeyError, match="no_such_module"):
        tvm_ffi.init_ffi_api("test.ns", "no_such_module")


# ---- signatures of Python callables --------------------------------------------------------------


INT8, CPU = tvm_ffi.dtype("int8"), tvm_ffi.device("cpu:0")


def power(x, y=2.0):
    return x**y


def keyword_only(x, *, y=2.0):
    return x**y


def first(*arguments):
    return arguments[0]


@functools.wraps(power)
def forwarding(*args, **kwargs):
    return power(*args, **kwargs)


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (power, "(x: float, y: float = 2)"),
        (power, "(x: float, *, y: float = 2)"),
        (power, "(x: float, y: float)"),
        (power, "(x: float)"),
        (power, "(a: float, b: float = 2, /)"),
        (forwarding, "(x: float, y: float = 2)"),
        (first, "(*arguments: int)"),
        (first, "(x: float, /, *others: int)"),
        (keyword_only, "(x: float)"),
        (abs, "(x: float, /)"),
        (max, "(x: float, y: float, /)"),  # its parameters are unknown
        (lambda x, types=("a", "b"): x, "(x: float, types: Array[str] = ['a', 'b'])"),
        (lambda x, dtype=INT8: x, "(x: float, dtype: dtype = 'int8')"),
        (lambda x, device=CPU: x, "(x: float, device: Device = 'cpu:0')"),
    ],
)
def test_callables_take_the_calls_of_their_signature(register, function, signature):
    register("test.f", function, signature=signature)
    found = tvm_ffi.get_global_func("test.f")
    assert found(3.0, 2.0) if function is max else found(3.0)


@pytest.mark.parametrize(
    ("function", "signature", "message"),
    [
        (lambda x, y: x, "(x: int, y: int = 2)", "'y' has the default 2, but .* has none"),
        (power, "(x: float, y: float = 3)", "'y' has the default 3.0, but power.* has another"),
        (first, "(x: int = 1, /)", "'x' has the default 1, but first.* does not name it"),
        (max, "(x: int = 1, /)", "'x' has a default, but the parameters of .*max.* are unknown"),
        (
            power,
            "(x: float, z: float)",
            r"'z' can be passed by name, but power\(x, y=2.0\) has 'y'",
        ),
        (power, "(y: float, x: float)", "'y' can be passed by name, but .* has 'x' at its pos"),
        (abs, "(x: float)", "'x' can be passed by name, but abs.* by position only; write '/'"),
        (first, "(x: float)", "'x' can be passed by name, but first.* by position only"),
        (power, "(x: float, y: float, z: float)", "'z' is declared, but power.* has fewer"),
        (power, "(x: float, *y: float)", "'y' takes any number of arguments, but power"),
        (lambda x, y: x, "(x: int)", "requires the parameter 'y', which the signature does not"),
        (lambda x, *, y: x, "(x: int)", "requires the parameter 'y', which the signature does not"),
        (
            keyword_only,
            "(x: float, *, y: float = 2)",
            "'y' is passed by position by native callers",
        ),
    ],
)
def test_signatures_that_a_callable_does_not_take_are_refused(
    register, function, signature, message
):
    """Regression: metadata advertised defaults and names that calls did not have."""
    for f in (function, tvm_ffi.convert_func(function)):
        with pytest.raises(ValueError, match=f"^register_global_func: test.f: .*{message}"):
            register("test.f", f, signature=signature)
        assert tvm_ffi.get_global_func("test.f", allow_missing=True) is None


def test_native_callers_omit_arguments_with_defaults(register):
    register("test.power", power, signature="power(x: float, y: float = 2.0) -> float")
    function = tvm_ffi.get_global_func("test.power")
    assert tvm_ffi.get_global_func("testing.apply")(function, 3.0) == 9.0
    assert function(3.0) == function(x=3.0) == 9.0


def test_functions_keep_their_signature(register):
    """Regression: a second registration of a function lost its signature and documentation."""
    text = "power(x: float, y: float = 2.0) -> float doc 'x to the power of y.'"
    function = register("test.power", power, signature=text)
    register("test.again.power", function)
    register("test.other", tvm_ffi.get_global_func("test.power"))
    signatures = [
        registry.get_global_func_metadata(name)["signature"]
        for name in ("test.again.power", "test.other")
    ]
    assert signatures == [text, text.removeprefix("power")]


def test_module_functions_keep_their_signature(register, kernels):
    """Regression: registering a module's function lost its keyword arguments and documentation."""
    register("test.named", kernels.named)
    register("test.nameless", kernels.nameless)
    register("test.count", kernels.count)
    text = "named(a: int, /, b: int, c: int = 3, *, d: int, e: str = 'x') doc 'Names.'"
    assert registry.get_global_func_metadata("test.named")["signature"] == text
    assert registry.get_global_func_metadata("test.nameless")["signature"] == "nameless(x: int)"
    assert registry.get_global_func_metadata("test.count") == {}
    assert list(tvm_ffi.get_global_func("test.named")(1, d=4, b=2)) == [1, 2, 3, 4, "x"]
