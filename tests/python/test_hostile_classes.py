# SPDX-License-Identifier: Apache-2.0
"""Classes whose own code fails or lies at the worst moment: exceptions, values, arrays."""

from __future__ import annotations

import pytest

import tvm_ffi
from tvm_ffi._binding.object.error import error_from_exception
from tvm_ffi._binding.types.constructor import Constructor

# ---- exceptions that fail while they are described -----------------------------------------------


class Refuses(BaseException):
    """What the classes below raise; no ordinary handler expects it."""


def _refuse(*_):
    raise Refuses


class _BadMeta(type):
    __hash__ = _refuse
    __eq__ = _refuse


class BadText(ValueError):
    __str__ = _refuse
    __repr__ = _refuse


class BadGetattr(ValueError):
    __getattr__ = _refuse


class BadSetattr(ValueError):
    __setattr__ = _refuse


class BadGetattribute(ValueError):
    __getattribute__ = _refuse


class BadHash(ValueError, metaclass=_BadMeta):
    pass


HOSTILE = pytest.mark.parametrize(
    "cls", [BadText, BadGetattr, BadSetattr, BadGetattribute, BadHash], ids=lambda c: c.__name__
)


def _raising(error):
    def act(*_):
        raise error

    return act


@HOSTILE
def test_exception_of_a_callback_arrives_as_itself(kernels, cls):
    error = cls("what")
    try:
        kernels.call(_raising(error))
    except BaseException as arrived:
        assert arrived is error  # noqa: PT017  (looking at it in any other way may raise)
    else:
        pytest.fail("nothing was raised")


@HOSTILE
def test_exception_as_a_native_error_has_its_kind(kernels, cls):
    seen = kernels.catch(_raising(cls("what")))
    assert seen.kind == "ValueError"
    assert seen.message == ("<BadText whose __str__ failed>" if cls is BadText else "what")


@HOSTILE
def test_exception_of_a_conversion_arrives(kernels, cls):
    error = cls("what")

    class Value:
        def __tvm_ffi_int__(self):
            raise error

    try:
        kernels.count(Value())
    except BaseException as arrived:
        assert arrived is error  # noqa: PT017
    else:
        pytest.fail("nothing was raised")


def test_text_that_fails_inside_a_plain_exception_of_a_conversion(kernels):
    class Value:
        def __tvm_ffi_int__(self):
            raise ValueError(BadText("inner"))

    with pytest.raises(ValueError) as caught:  # noqa: PT011  (its text fails)
        kernels.count(Value())
    assert isinstance(caught.value.args[0], BadText)


def test_text_of_an_exception_may_be_of_a_class_of_its_own(kernels):
    class Text(str):
        __slots__ = ()
        encode = _refuse

    class Error(ValueError):
        def __str__(self):
            return Text("mine")

    assert kernels.catch(_raising(Error())).message == "mine"


NO_MEMORY = """
import sys
import _testcapi
import tvm_ffi

call = tvm_ffi.load_module(sys.argv[1]).call
stop, fail = _testcapi.remove_mem_hooks, _testcapi.set_nomemory
arrived = set()


def attempt(function):
    try:
        call(function)
    except BaseException as error:
        return type(error)


for length in (1, 2, 5):
    for first in range(60):

        def act(error=ValueError("what"), first=first, last=first + length):
            fail(first, last)
            raise error

        function = tvm_ffi.convert_func(act)
        try:
            arrived.add(attempt(function))
        except MemoryError:  # the interpreter itself had none
            pass
        stop()
assert {ValueError, MemoryError} <= arrived, arrived
print("alive")
"""


def test_callback_that_raises_while_there_is_no_memory(run_python):
    """Each request for memory fails in turn, alone or with those behind it."""
    pytest.importorskip("_testcapi")
    result = run_python(NO_MEMORY)
    assert (result.returncode, result.stdout) == (0, "alive\n"), result.stderr


# ---- errors and constructors ---------------------------------------------------------------------


def test_error_that_is_initialised_again_forgets_its_exception():
    exception = KeyError("first")
    error = error_from_exception(exception)
    assert error.py_error() is exception
    error.__init__("ValueError", "second", "")
    assert type(error.py_error()) is ValueError
    assert str(error.py_error()) == "second"


def test_constructors_are_for_classes_of_objects():
    with pytest.raises(TypeError, match="derives from CObject"):
        Constructor(len, int, None, None, None)
