# SPDX-License-Identifier: Apache-2.0
"""One exception object that is raised again and again: its text stays constant."""

from __future__ import annotations

import functools
import sys
import traceback

import pytest

import tvm_ffi


def text(exception):
    return traceback.format_exception_only(type(exception), exception)


class TwoArguments(Exception):
    """An exception class whose instances have more data than a message."""

    def __init__(self, first, second):
        super().__init__(first, second)


class Slotted(ValueError):
    """An exception class that refuses attributes which are not its own."""

    def __setattr__(self, name, value):
        raise AttributeError(name)


EXCEPTIONS = [
    ValueError("text"),
    KeyError("key"),
    TwoArguments(1, 2),
    Slotted("text"),
    OSError(2, "text", "file"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "reason"),
    SystemExit(3),
]


class FailingValue:
    """A value whose conversion raises an exception object that exists already."""

    def __init__(self, error):
        self.error = error

    def __tvm_ffi_value__(self):
        raise self.error


def fail(error):
    raise error


def fail_in_generator(error):
    def generator():
        yield 1
        raise error

    list(generator())


def fail_again(function):
    try:
        function()
    except BaseException:  # adds a frame and another pass through native code
        raise


def fail_two_times(error):
    inner = tvm_ffi.convert(functools.partial(fail, error))
    fail_again(inner)


# Functions that raise an exception object out of native code.
ROUTES = {
    "callback": lambda error: tvm_ffi.convert(lambda: fail(error))(),
    "callable in C": lambda error: tvm_ffi.convert(functools.partial(fail, error))(),
    "generator": lambda error: tvm_ffi.convert(lambda: fail_in_generator(error))(),
    "two callbacks": lambda error: tvm_ffi.convert(lambda: fail_two_times(error))(),
    "argument": lambda error: tvm_ffi.convert(lambda x: x)(FailingValue(error)),
    "keyword": lambda error: tvm_ffi.convert(lambda x: x)(x=FailingValue(error)),
    "result": lambda error: tvm_ffi.convert(lambda: FailingValue(error))(),
    "element": lambda error: tvm_ffi.Array([FailingValue(error)]),
}


@pytest.fixture(params=EXCEPTIONS, ids=lambda error: type(error).__name__)
def error(request):
    """Return a new exception object."""
    original = request.param
    made = type(original)(*original.args)
    return OSError(2, "text", "file") if isinstance(original, OSError) else made


def attempt(route, error):
    with pytest.raises(type(error)) as caught:
        ROUTES[route](error)
    return caught.value


@pytest.mark.parametrize("route", list(ROUTES))
def test_the_text_stays_constant(route, error):
    """Regression: each raise repeated the context of a conversion in the message."""
    texts = [text(attempt(route, error)) for _ in range(50)]
    assert texts[-1] == texts[1]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`__notes__` is from Python 3.11")
def test_a_note_is_added_once_per_place():
    error = KeyError("key")
    for _ in range(10):
        attempt("argument", error)
    assert len(error.__notes__) == 1
    attempt("result", error)
    assert len(error.__notes__) == 2
