# SPDX-License-Identifier: Apache-2.0
"""Errors between native code and Python: kinds, messages, tracebacks, registration, signals."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import traceback
import weakref

import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi import error as error_module

KINDS = (
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    IndexError,
    OverflowError,
    AssertionError,
    MemoryError,
)


class PlainError(Exception):
    """An exception class that is not registered."""


def raiser(exception):
    """Return a callable that raises the exception."""

    def fail(*_):
        raise exception

    return fail


def frame_names(exception):
    return [frame.name for frame in traceback.extract_tb(exception.__traceback__)]


@pytest.fixture
def registered(monkeypatch):
    """Return `register_error`; its registrations are undone after the test."""
    tables = (core.ERROR_NAME_TO_TYPE, core.ERROR_TYPE_TO_NAME)
    before = [dict(table) for table in tables]
    yield tvm_ffi.register_error
    for table, content in zip(tables, before):
        table.clear()
        table.update(content)


# ---- native to Python ------------------------------------------------------------------------


@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: cls.__name__)
def test_a_native_error_kind_raises_the_python_class(kernels, cls):
    with pytest.raises(cls, match="told by native code") as caught:
        kernels["raise"](cls.__name__, "told by native code")
    assert type(caught.value) is cls
    assert caught.value.args == ("told by native code",)


@pytest.mark.parametrize(
    "cls", [NotImplementedError, OSError, FileNotFoundError, ZeroDivisionError, StopIteration]
)
def test_each_builtin_error_kind_raises_its_class(kernels, cls):
    """Regression: only nine kinds raised their class, the others RuntimeError."""
    with pytest.raises(cls, match="told") as caught:
        kernels["raise"](cls.__name__, "told by native code")
    assert type(caught.value) is cls


@pytest.mark.breaks_rules
@pytest.mark.parametrize("kind", ["InternalError", "NoSuchKind", "", "Exception", "SystemExit"])
def test_an_unknown_native_error_kind_raises_runtime_error(kernels, kind):
    with pytest.raises(RuntimeError, match="told") as caught:
        kernels["raise"](kind, "told by native code")
    assert type(caught.value) is RuntimeError


@pytest.mark.parametrize(
    "message",
    ["", "x", "seven b", "a\0b", "na\u00efve \U0001f600", "line one\nline two", "m" * 100_000],
    ids=["empty", "one", "seven", "nul", "non-ascii", "lines", "long"],
)
@pytest.mark.breaks_rules
def test_native_message_arrives_unchanged(kernels, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        kernels["raise"]("ValueError", message)
    assert caught.value.args == (message,)


def test_invalid_utf8_in_a_message_is_replaced(kernels):
    with pytest.raises(ValueError, match="bad \ufffd byte"):
        kernels["raise"]("ValueError", b"bad \xff byte")


def test_native_frames_are_in_the_traceback(kernels):
    with pytest.raises(ValueError, match="raised in C") as caught:
        kernels.raise_here()
    assert caught.value.__tvm_ffi_error__.kind == "ValueError"
    assert any("raise_here" in name for name in frame_names(caught.value))


def test_frames_of_a_native_backtrace_are_innermost_last(kernels):
    text = '  File "inner.c", line 5, in Inner\n  File "outer.c", line 9, in Outer\n'
    with pytest.raises(ValueError, match="m") as caught:
        kernels["raise"]("ValueError", "m", text)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [(f.filename, f.lineno, f.name) for f in frames][-2:] == [
        ("outer.c", 9, "Outer"),
        ("inner.c", 5, "Inner"),
    ]
    assert 'File "inner.c", line 5, in Inner' in "".join(
        traceback.format_exception(type(caught.value), caught.value, caught.value.__traceback__)
    )


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        '  File "x.c", line abc, in F\n',
        '  File "x.c", line 99999999999999999999, in F\n',
        '  File "x.c", line -1, in F\n',
        '  File "", line 0, in \n',
        '  File "caf\u00e9.c", line 1, in f\u00fcr\n',
        b'  File "\xff\xfe.c", line 1, in f\n',
        "\n" * 1000,
    ],
)
def test_malformed_native_backtraces_are_ignored(kernels, text):
    with pytest.raises(ValueError, match="^m$"):
        kernels["raise"]("ValueError", "m", text)


def test_a_thousand_native_frames_arrive(kernels):
    text = "".join(f'  File "deep.c", line {i}, in F\n' for i in range(1, 1001))
    with pytest.raises(ValueError, match="deep") as caught:
        kernels["raise"]("ValueError", "deep", text)
    lines = [f.lineno for f in traceback.extract_tb(caught.value.__traceback__)][-1000:]
    assert lines == list(range(1000, 0, -1))


def test_frames_of_the_binding_are_not_in_the_traceback(kernels):
    with pytest.raises(ZeroDivisionError) as caught:
        kernels.call(raiser(ZeroDivisionError("plain")))
    files = [f.filename for f in traceback.extract_tb(caught.value.__traceback__)]
    assert not [name for name in files if "_binding" in name]


# ---- failures without an error ---------------------------------------------------------------


@pytest.mark.breaks_rules
@pytest.mark.parametrize("code", [-1, 1, -2, 7])
def test_failure_without_an_error_is_a_runtime_error(kernels, code):
    with pytest.raises(RuntimeError, match="set no error"):
        kernels.fail_silently(code)
    assert kernels.count(1, 2) == 2  # the next call must work


def test_an_already_set_error_without_an_exception_is_reported(kernels):
    with pytest.raises((RuntimeError, SystemError), match="no error"):
        kernels["raise"]("EnvErrorAlreadySet", "")


def test_cpp_exception_of_unknown_type_is_a_runtime_error(kernels):
    with pytest.raises(RuntimeError, match=r"C\+\+ exception of unknown type"):
        kernels.throw_unknown()


def test_a_standard_cpp_exception_keeps_its_message(kernels):
    with pytest.raises(RuntimeError, match="index 7 of 3"):
        kernels.throw_standard()


# ---- Python to native ------------------------------------------------------------------------


@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: cls.__name__)
def test_a_python_exception_class_becomes_the_native_kind(kernels, cls):
    error = kernels.catch(raiser(cls("told by Python")))
    assert isinstance(error, core.Error)
    assert error.kind == cls.__name__
    assert error.message == str(cls("told by Python"))


@pytest.mark.parametrize(
    ("cls", "kind"),
    [
        (NotImplementedError, "RuntimeError"),
        (RecursionError, "RuntimeError"),
        (UnicodeError, "ValueError"),
        (ModuleNotFoundError, "RuntimeError"),
        (OSError, "RuntimeError"),
        (PlainError, "RuntimeError"),
        (SystemExit, "RuntimeError"),
        (KeyboardInterrupt, "RuntimeError"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else value,
)
def test_other_classes_become_the_nearest_registered_kind(kernels, cls, kind):
    assert kernels.catch(raiser(cls("x"))).kind == kind


def test_python_frames_are_in_the_native_backtrace(kernels):
    def outer_python_function():
        raiser(ValueError("x"))()

    lines = kernels.catch(outer_python_function).backtrace.splitlines()
    functions = [line.rpartition(", in ")[2] for line in lines]
    assert functions[:2] == ["fail", "outer_python_function"]  # the most recent call is first
    assert f'File "{__file__}", line ' in lines[0]


def test_an_exception_whose_str_raises_crosses_the_boundary(kernels):
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no text")

    assert "Mute" in kernels.catch(raiser(Mute())).message


def test_an_exception_with_lone_surrogates_crosses_the_boundary(kernels):
    original = ValueError("half \ud800")
    assert "half" in kernels.catch(raiser(original)).message
    with pytest.raises(ValueError, match="half") as caught:
        kernels.call(raiser(original))
    assert caught.value is original


# ---- round trips -----------------------------------------------------------------------------


def test_a_callback_exception_is_the_same_object(kernels):
    cause = OSError("the cause")
    original = KeyError("key", 42)
    original.detail = {"a": 1}
    original.__cause__ = cause
    if sys.version_info >= (3, 11):
        original.add_note("a note")
    with pytest.raises(KeyError) as caught:
        kernels.call(raiser(original))
    assert caught.value is original
    assert original.args == ("key", 42)
    assert original.detail == {"a": 1}
    assert original.__cause__ is cause
    assert sys.version_info < (3, 11) or original.__notes__ == ["a note"]


@pytest.mark.parametrize(
    "cls", [PlainError, StopIteration, KeyboardInterrupt, SystemExit, GeneratorExit]
)
def test_exceptions_of_unregistered_classes_are_the_same_object(kernels, cls):
    exception = cls("x")
    with pytest.raises(cls) as caught:
        kernels.call(raiser(exception))
    assert caught.value is exception


def test_an_exception_with_slots_is_the_same_object(kernels):
    class Slotted(ValueError):
        __slots__ = ()

    original = Slotted("x")
    with pytest.raises(Slotted) as caught:
        kernels.call(raiser(original))
    assert caught.value is original


def test_an_exception_on_a_native_thread_is_the_same_object(kernels):
    original = PlainError("on another thread")
    with pytest.raises(PlainError) as caught:
        kernels.call_on_thread(raiser(original))
    assert caught.value is original


def test_python_frames_on_both_sides_are_in_the_traceback(kernels):
    def inner():
        raise PlainError("x")

    def outer():
        kernels.call(inner)

    with pytest.raises(PlainError) as caught:
        kernels.call(outer)
    names = frame_names(caught.value)
    assert names.index("outer") < names.index("inner")
    assert names[-1] == "inner"
    assert names.count("inner") == 1


def test_frame_added_by_native_code_is_in_the_traceback(kernels):
    with pytest.raises(PlainError) as caught:
        kernels.call_adding_frame(raiser(PlainError("x")))
    frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(caught.tb)]
    assert ("middle.c", 77, "Middle") in frames
    assert frames[-1][2] == "fail"


def test_reraising_an_exception_does_not_duplicate_frames(kernels):
    original = PlainError("x")

    def again():
        try:
            kernels.call(raiser(original))
        except PlainError as error:
            raise error

    with pytest.raises(PlainError):
        kernels.call(again)
    assert frame_names(original).count("fail") == 1


def test_context_of_an_exception_raised_while_handling_is_kept(kernels):
    def fail():
        try:
            kernels["raise"]("ValueError", "first")
        except ValueError:
            raise PlainError("second")  # noqa: B904 - the implicit context is the point

    with pytest.raises(PlainError, match="second") as caught:
        kernels.call(fail)
    assert isinstance(caught.value.__context__, ValueError)


class _Marked:
    """Raises an exception with attributes in its conversion while another one is handled."""

    def __init__(self, make):
        self.make = make

    def __tvm_ffi_int__(self):
        try:
            raise KeyError("first")
        except KeyError:
            error = self.make("inner")
            error.code = 7
            raise error  # noqa: B904 - the implicit context is the point


@pytest.mark.parametrize("make", [ValueError, PlainError])
def test_an_error_about_an_argument_keeps_its_context_and_attributes(kernels, make):
    """Regression: the error was copied with a longer message; the copy lost its attributes."""
    with pytest.raises(make) as caught:
        kernels.count(_Marked(make))
    assert caught.value.code == 7
    assert isinstance(caught.value.__context__, KeyError)
    assert not caught.value.__suppress_context__
    shown = "".join(traceback.format_exception(make, caught.value, caught.value.__traceback__))
    assert shown.count("inner") == 1
    assert "KeyError: 'first'" in shown


def test_a_native_error_raised_through_python_keeps_its_error_object(kernels):
    def through():
        kernels["raise"]("IndexError", "from below")

    with pytest.raises(IndexError, match="from below") as caught:
        kernels.call(through)
    assert caught.value.__tvm_ffi_error__.message == "from below"


# ---- the Error class -------------------------------------------------------------------------


def test_error_fields():
    error = core.Error("MyKind", "what happened", '  File "f.c", line 3, in F\n')
    assert (error.kind, error.message) == ("MyKind", "what happened")
    assert error.backtrace == '  File "f.c", line 3, in F\n'
    assert error.extra_context is None
    assert repr(error) == "ffi.Error('MyKind', 'what happened')"


def test_update_backtrace_replaces():
    error = core.Error("ValueError", "m", "old")
    error.update_backtrace("new")
    assert error.backtrace == "new"


def test_py_error_returns_the_exception():
    error = core.Error("IndexError", "m", '  File "f.c", line 3, in F\n').py_error()
    assert type(error) is IndexError
    assert error.args == ("m",)
    assert frame_names(error)[-1] == "F"


def test_empty_error_pickles_as_other_empty_wrappers():
    """Regression: ValueError, because an empty wrapper has no strings."""
    empty = core.Error.__new__(core.Error)
    assert pickle.loads(pickle.dumps(empty)).__chandle__() == 0
    assert repr(copy.copy(empty)) == "Error(chandle=None)"


def test_error_pickles_by_its_three_strings():
    error = pickle.loads(pickle.dumps(core.Error("ValueError", "m", "b")))
    assert (error.kind, error.message, error.backtrace) == ("ValueError", "m", "b")


def test_error_is_not_an_exception_class():
    assert not issubclass(core.Error, BaseException)


@pytest.mark.parametrize("name", ["kind", "message", "backtrace", "extra_context"])
def test_reading_an_empty_error_is_a_value_error(name):
    empty = core.Error.__new__(core.Error)
    with pytest.raises(ValueError, match="Error is empty"):
        getattr(empty, name)


@pytest.mark.parametrize("arguments", [(1, "m", "b"), ("k", None, "b"), ("k", "m", b"b"), ("k",)])
def test_error_from_wrong_types_is_a_type_error(arguments):
    with pytest.raises((TypeError, AttributeError)):
        core.Error(*arguments)


def test_returned_error_stays_an_error(kernels, echo):
    error = core.Error("ValueError", "m", "")
    returned = echo(error)
    assert isinstance(returned, core.Error)
    assert returned.same_as(error)


def test_exception_as_argument_becomes_an_error(echo):
    error = echo(IndexError("as a value"))
    assert isinstance(error, core.Error)
    assert (error.kind, error.message) == ("IndexError", "as a value")


def test_an_error_object_raised_by_native_code_raises_its_exception(kernels):
    with pytest.raises(LookupError, match="made in Python"):
        kernels.raise_object(core.Error("IndexError", "made in Python", ""))


def test_a_caught_error_raised_again_raises_the_original_exception(kernels):
    original = PlainError("kept inside the error")
    with pytest.raises(PlainError) as caught:
        kernels.raise_object(kernels.catch(raiser(original)))
    assert caught.value is original


# ---- registration ----------------------------------------------------------------------------


def test_a_registered_class_crosses_in_both_directions(kernels, registered):
    @registered("Test.Kind")
    class OwnError(Exception):
        pass

    assert kernels.catch(raiser(OwnError("x"))).kind == "Test.Kind"
    with pytest.raises(OwnError, match="^y$"):
        kernels["raise"]("Test.Kind", "y")


def test_a_subclass_has_the_kind_of_its_nearest_registered_base(kernels, registered):
    @registered
    class BaseOfMine(ValueError):
        pass

    class Derived(BaseOfMine):
        pass

    assert kernels.catch(raiser(Derived("x"))).kind == "BaseOfMine"


def test_register_error_returns_the_class(registered):
    assert registered("Test.Kind", PlainError) is PlainError
    assert core.ERROR_NAME_TO_TYPE["Test.Kind"] is PlainError
    assert core.ERROR_TYPE_TO_NAME[PlainError] == "Test.Kind"


def test_registering_a_class_that_is_not_an_exception_is_refused(registered):
    with pytest.raises(TypeError, match="int must be an exception class"):
        registered("Test.Kind", int)


def test_a_registered_class_with_more_constructor_arguments_raises_runtime_error(
    kernels, registered
):
    @registered("Test.Kind")
    class TwoArguments(Exception):
        def __init__(self, first, second):
            super().__init__(first, second)

    with pytest.raises(RuntimeError, match="Test.Kind: the message"):
        kernels["raise"]("Test.Kind", "the message")


def test_a_registration_applies_to_earlier_errors(kernels, registered):
    error = core.Error("Test.Kind", "m", "")
    assert type(error.py_error()) is RuntimeError
    registered("Test.Kind", PlainError)
    assert type(error.py_error()) is PlainError


# ---- signals ---------------------------------------------------------------------------------

# A shell starts background processes with SIGINT ignored; Python leaves this setting unchanged.
WAIT = """
import signal, sys
import tvm_ffi

signal.signal(signal.SIGINT, signal.default_int_handler)
kernels = tvm_ffi.load_module(sys.argv[1])
try:
    print("ready", flush=True)
    kernels.wait_for_signal({how}, 20_000)
except KeyboardInterrupt:
    print("interrupted", kernels.count(1, 2))
"""


@pytest.mark.parametrize("how", [-1, -2, 1], ids=["minus-one", "minus-two", "kind"])
def test_ctrl_c_ends_a_long_native_call(kernel_library, how):
    code = textwrap.dedent(WAIT.format(how=how))
    with subprocess.Popen(
        [sys.executable, "-c", code, str(kernel_library)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)  # by then, the program is most likely inside the native call
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=15)
    assert (process.returncode, output, errors) == (0, "interrupted 2\n", "")


LATE = """
import _thread, functools, signal
import tvm_ffi

# A signal handler could run before a Python function returns; C functions do not run it.
interrupt = functools.partial(sorted, {signals}, key=_thread.interrupt_main)

class Late(Exception):
    __str__ = staticmethod(interrupt)

class Handled({base}):
    pass

def handle(*args):
    raise Handled

def fail():
    raise Late

for number in {signals}:
    signal.signal(number, handle)
try:
    tvm_ffi.convert_func({function})()
except Handled:
    print("interrupted")
"""


@pytest.mark.skipif(
    sys.version_info < (3, 10), reason="_thread.interrupt_main takes no signal before Python 3.10"
)
@pytest.mark.parametrize("base", ["KeyboardInterrupt", "ValueError"])
@pytest.mark.parametrize("function", ["interrupt", "fail"])
@pytest.mark.parametrize(
    "signals",
    [["SIGINT", "SIGINT"], ["SIGINT", "SIGUSR1", "SIGUSR2", "SIGTERM"]],
    ids=["one", "several"],
)
def test_a_signal_during_the_description_of_an_error_is_handled(
    run_python, function, base, signals
):
    """Regression: a handler's exception was reported as a MemoryError or failure of `__str__`.

    Regression: after the exceptions of two handlers, a third one became a MemoryError.
    """
    numbers = f"[{', '.join(f'signal.{name}' for name in signals)}]"
    result = run_python(LATE.format(function=function, base=base, signals=numbers))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "interrupted\n"


def test_an_error_in_a_cycle_with_its_traceback_is_collected(kernels):
    """Regression: the garbage collector did not see that an Error owns its exception."""

    def hold():
        error = kernels.catch(raiser(ValueError("x")))  # the traceback refers to `error`
        return weakref.ref(error)

    held = hold()
    gc.collect()
    assert held() is None


def test_error_passed_back_to_native_code_is_raised_as_the_same_exception(kernels):
    original = ValueError("x")
    error = kernels.catch(raiser(original))
    assert error.py_error() is original
    with pytest.raises(ValueError, match="x") as caught:
        kernels.rethrow(error)
    assert caught.value is original


# ---- tracebacks built from strings ---------------------------------------------------------------


def test_traceback_manager_prepends_entries():
    manager = error_module.TracebackManager()
    inner = manager.append_traceback(None, 'kernel "odd"\n.cu', 12, "launch")
    outer = manager.append_traceback(inner, "host.py", 3, "main")
    assert [(entry.lineno, entry.name) for entry in traceback.extract_tb(outer)] == [
        (3, "main"),
        (12, "launch"),
    ]
    assert outer.tb_next is inner
    assert inner.tb_frame.f_code.co_filename == 'kernel "odd"\n.cu'


def test_traceback_manager_keeps_a_bounded_number_of_frames():
    """Long-running compilers report errors with ever new source locations."""
    manager = error_module.TracebackManager()
    first = manager.append_traceback(None, "kernel.cu", 0, "launch").tb_frame
    assert manager.append_traceback(None, "kernel.cu", 0, "launch").tb_frame is first
    gc.collect()
    before = sys.getallocatedblocks()
    for line in range(1, 20_000):
        manager.append_traceback(None, "kernel.cu", line, "launch")
    gc.collect()
    assert sys.getallocatedblocks() - before < 20_000
    assert manager.append_traceback(None, "kernel.cu", 0, "launch").tb_lineno == 0


def test_traceback_hooks():
    text = '  File "in.cc", line 4, in Inner\n  File "out.cc", line 5, in Outer\n'
    error = core._WITH_APPEND_BACKTRACE(ValueError("x"), text)
    assert type(error) is ValueError
    assert [entry.name for entry in traceback.extract_tb(error.__traceback__)] == ["Outer", "Inner"]
    assert core._TRACEBACK_TO_BACKTRACE_STR(error.__traceback__) == text
    assert core._TRACEBACK_TO_BACKTRACE_STR(None) == ""


@pytest.mark.parametrize("other", [5, "text", ValueError("x"), type])
def test_a_value_that_is_not_a_traceback_is_a_type_error(other):
    """Regression: any object was read as if it were a traceback."""
    with pytest.raises(TypeError, match="expected a traceback or None, got"):
        core._TRACEBACK_TO_BACKTRACE_STR(other)


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    """An exception whose attributes cannot be set."""

    code: int


def raise_frozen(*_):
    raise FrozenError(3)


def test_frozen_exceptions_cross_the_boundary(kernels):
    """Regression: the traceback was set by assignment, which frozen exceptions refuse."""
    with pytest.raises(FrozenError) as info:
        tvm_ffi.convert_func(raise_frozen)()
    assert info.value.code == 3


def test_frozen_exceptions_are_raised_while_packing(kernels):
    """Regression: an attribute that marks an exception was set, which frozen exceptions refuse."""
    value = type("Value", (), {"__tvm_ffi_value__": raise_frozen})()
    with pytest.raises(FrozenError):
        kernels.count(value)


def test_cause_and_notes_of_a_packing_error_are_kept(kernels):
    """Regression: the exception is copied with a longer message; its cause and notes were lost."""
    cause = KeyError("cause")

    def fail(_):
        error = ValueError("inner")
        error.__notes__ = ["a note"]
        raise error from cause

    value = type("Value", (), {"__tvm_ffi_value__": fail})()
    with pytest.raises(ValueError, match="argument #0 when calling `count`: inner") as info:
        kernels.count(value)
    assert info.value.__cause__ is cause
    assert info.value.__notes__ == ["a note"]
