# SPDX-License-Identifier: Apache-2.0
"""One exception object that is raised again and again: memory and text stay constant."""

from __future__ import annotations

import functools
import importlib
import sys
import traceback

import pytest

import tvm_ffi


def entries(exception):
    return [
        (frame.name, frame.line)
        for frame in traceback.extract_tb(exception.__traceback__)
        if "tvm_ffi/_binding" not in frame.filename
    ]


def text(exception):
    cls = type(exception)
    return "".join(traceback.format_exception(cls, exception, exception.__traceback__))


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
def test_text_and_traceback_stay_constant(route, error):
    """Regression: each raise added frames, and repeated the context of a conversion."""
    sizes = {}
    for count in range(1, 1001):
        caught = attempt(route, error)
        if count in (20, 1000):
            sizes[count] = len(text(caught)), len(entries(caught)), caught.args
    assert sizes[1000] == sizes[20]
    assert sizes[1000][1] < 60


def test_the_backtrace_stays_constant():
    """Regression: the native backtrace had 88 bytes more after each raise."""
    error, sizes = ValueError("text"), []
    for _ in range(100):
        attempt("callback", error)
        sizes.append(len(error.__tvm_ffi_error__.backtrace))
    assert sizes[99] == sizes[10]


def test_raises_in_the_frame_of_one_loop_stay_constant():
    """The catching frame is the same each time, and is still running."""
    error = ValueError("text")
    function = tvm_ffi.convert(functools.partial(fail, error))
    sizes = []
    for _ in range(50):
        try:
            function()
        except ValueError as caught:
            sizes.append(len(entries(caught)))
    assert sizes[49] == sizes[10]


def test_raises_at_the_top_level_of_a_program_stay_constant(run_python):
    """The frame of a module has no caller."""
    code = """
import tvm_ffi
error = ValueError("text")
def fail():
    raise error
function = tvm_ffi.convert(fail)
sizes = []
for _ in range(50):
    try:
        function()
    except ValueError as caught:
        size, entry = 0, caught.__traceback__
        while entry is not None:
            size, entry = size + 1, entry.tb_next
        sizes.append(size)
print(sizes[49] == sizes[10])
"""
    result = run_python(code)
    assert (result.returncode, result.stdout) == (0, "True\n"), result.stderr


def test_the_first_raise_and_the_newest_stay_in_the_traceback():
    error = ValueError("text")

    def first():
        raise error

    def later():
        raise error

    with pytest.raises(ValueError, match="text"):
        tvm_ffi.convert(first)()
    for _ in range(20):
        with pytest.raises(ValueError, match="text"):
            tvm_ffi.convert(later)()
    names = [name for name, _ in entries(error)]
    assert names.count("first") == 1
    assert names[-1] == "first"
    assert names.count("later") == 3


def test_a_few_raises_keep_the_whole_traceback():
    error = ValueError("text")
    for _ in range(4):
        attempt("callback", error)
    names = [name for name, _ in entries(error)]
    assert names.count("fail") == 4


# ---- tracebacks of one raise are never shortened -------------------------------------------------


@pytest.mark.parametrize("depth", [5, 60])
def test_recursion_keeps_all_frames(kernels, depth):
    def down(level):
        if level == 0:
            raise ValueError("text")
        return kernels.call(down, level - 1)

    with pytest.raises(ValueError, match="text") as caught:
        down(depth)
    assert [name for name, _ in entries(caught.value)].count("down") == depth + 1


def test_recursion_that_raises_the_error_again_keeps_all_frames(kernels):
    def down(level):
        if level == 0:
            raise ValueError("text")
        try:
            return kernels.call(down, level - 1)
        except ValueError as error:
            raise error from None

    with pytest.raises(ValueError, match="text") as caught:
        down(20)
    assert [name for name, _ in entries(caught.value)].count("down") == 41


def test_imports_and_generators_keep_all_frames(tmp_path, monkeypatch):
    """Python removes the frames of its import system from tracebacks."""
    for number in range(10):
        (tmp_path / f"chain_{number}.py").write_text(f"import chain_{number + 1}\n")
    (tmp_path / "chain_10.py").write_text("raise ValueError('text')\n")
    monkeypatch.syspath_prepend(tmp_path)

    def levels(number):
        yield 1
        if number == 0:
            importlib.import_module("chain_0")
        yield from levels(number - 1)

    with pytest.raises(ValueError, match="text") as caught:
        tvm_ffi.convert(lambda: list(levels(6)))()
    names = [name for name, _ in entries(caught.value)]
    assert names.count("<module>") == 11
    assert names.count("levels") == 7


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`__notes__` is from Python 3.11")
def test_a_note_is_added_once_per_place():
    error = KeyError("key")
    for _ in range(10):
        attempt("argument", error)
    assert len(error.__notes__) == 1
    attempt("result", error)
    assert len(error.__notes__) == 2
