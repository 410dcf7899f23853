# SPDX-License-Identifier: Apache-2.0
"""Interpreter shutdown: native threads that enter Python, finalizers and exit handlers."""

from __future__ import annotations

import sysconfig
import textwrap

import pytest

BEGIN = """
import sys, time
import tvm_ffi

kernels = tvm_ffi.load_module(sys.argv[1])
"""

# A native thread waits for the GIL from here until the interpreter releases the GIL once more at
# exit; the object is released then.
WAIT_UNTIL_THE_END = """
class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

slow = Slow()
end = time.monotonic() + 0.2
while time.monotonic() < end:
    pass
"""


def ends(result):
    """Return the printed lines; the process must have ended without an error."""
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


@pytest.mark.parametrize("kept", ["'a str of some length'", "b'x' * 20", "print", "object()"])
def test_a_thread_waiting_to_release_an_object_releases_it_before_shutdown(run_python, kept):
    """Regression: a thread checked for shutdown, then waited; its unwinding aborted the process."""
    code = f"sys.setswitchinterval(10)\nkernels.release_later({kept}, 50)\n"
    assert ends(run_python(BEGIN + code + WAIT_UNTIL_THE_END)) == ["released"]


@pytest.mark.undebugged(
    "the debug context reads the signature first, and the gate may close before the call"
)
def test_a_thread_waiting_to_call_python_calls_it_before_shutdown(run_python):
    code = "sys.setswitchinterval(10)\nkernels.call_later(lambda: None, 50)\n"
    assert ends(run_python(BEGIN + code + WAIT_UNTIL_THE_END)) == ["called"]


def test_a_thread_that_checks_for_signals_does_not_wait(run_python):
    """The main thread handles signals, so other threads need not wait for the GIL."""
    code = "sys.setswitchinterval(10)\nkernels.check_signals_later(50)\n"
    assert ends(run_python(BEGIN + code + WAIT_UNTIL_THE_END)) == ["checked"]


def test_threads_that_enter_python_during_shutdown_are_refused(run_python):
    """Native threads enter during a slow destructor, and must not wait for the interpreter."""
    code = """
    class Slow:
        release, call = kernels.release_later, kernels.call_later
        check = kernels.check_signals_later
        function = tvm_ffi.convert_func(print)

        def __del__(self, sleep=time.sleep):
            self.release("a str of some length", 100)
            self.call(self.function, 200)
            self.check(300)
            sleep(0.6)

    slow = Slow()
    """
    assert ends(run_python(BEGIN + textwrap.dedent(code))) == [
        "released",
        "cannot call a Python function: the interpreter has shut down",
        "checked",
    ]


def test_a_thread_in_an_endless_callback_waits_for_the_process_to_end(run_python):
    """Python before 3.14 unwinds the thread, through frames that must not be unwound."""
    code = """
    def stay():
        while True:
            time.sleep(0.001)

    kernels.call_later(stay, 0)
    """
    assert ends(run_python(BEGIN + textwrap.dedent(code) + WAIT_UNTIL_THE_END)) == []


def test_threads_that_call_and_release_continuously_are_harmless_at_shutdown(run_python):
    code = """
    for result in ("a str of some length", b"x" * 20, object(), [object()]):
        kernels.call_and_release_for_ever(lambda result=result: result)
    time.sleep(0.05)
    print("bye")
    """
    for _ in range(5):
        assert ends(run_python(BEGIN + textwrap.dedent(code))) == ["bye"]


def test_exit_handlers_registered_before_the_import_may_need_other_threads(run_python):
    """Exit handlers run in reverse order, so these run after the handlers of the package."""
    code = """
    import atexit
    atexit.register(lambda: kernels.call_on_thread(print, "from a native thread"))
    """
    assert ends(run_python(textwrap.dedent(code) + BEGIN)) == ["from a native thread"]


def test_processes_that_clear_exit_handlers_can_be_called(run_python):
    """Forked workers of multiprocessing clear their exit handlers."""
    code = 'import atexit\natexit._clear()\nkernels.call_on_thread(print, "called")\n'
    assert ends(run_python(BEGIN + code)) == ["called"]


def test_forked_child_can_be_called_and_ends(run_python):
    """A thread that is inside the interpreter gate during a fork does not exist in the child."""
    code = """
    import os
    def stay():
        while True:
            time.sleep(0.001)

    kernels.call_later(stay, 0)
    time.sleep(0.05)
    child = os.fork()
    if child == 0:
        kernels.call_on_thread(print, "in the child")
    else:
        assert os.waitpid(child, 0)[1] == 0
    """
    # Python 3.12 warns about forks in processes with threads.
    quiet = ["-W", "ignore::DeprecationWarning"]
    assert ends(run_python(BEGIN + textwrap.dedent(code), *quiet)) == ["in the child"]


# The class has separate globals. The garbage collector does not see the references of elements in
# native containers, so an element that refers to the program's globals would keep itself alive.
DIES = """
import os
own = {}
exec('''
class Dies:
    def __init__(self, act=None):
        self.act = act or (lambda: "dead")

    def __del__(self, write=__import__("os").write):
        write(1, (self.act() + chr(10)).encode())
''', own)
Dies = own.pop("Dies")
"""


@pytest.mark.parametrize(
    "made",
    [
        "tvm_ffi.Array([Dies()])",
        "tvm_ffi.List([1, [Dies()]])",
        "tvm_ffi.Dict({'key': Dies()})",
        "tvm_ffi.convert_func(lambda kept=Dies(): kept)",
        "tvm_ffi.convert(Dies())",
    ],
)
@pytest.mark.parametrize("variable", ["kept", "sys.kept"])
def test_finalizers_of_values_in_native_objects_run_at_shutdown(run_python, made, variable):
    """Py_IsInitialized is false at that time, so even the main thread was refused."""
    if "lambda" in made and variable == "sys.kept" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip(
            "without a GIL, only the garbage collector frees functions, and it no longer runs"
        )
    assert ends(run_python(BEGIN + DIES + f"{variable} = {made}\n")) == ["dead"]


def test_finalizers_run_at_shutdown_if_another_thread_imported_the_package(run_python):
    code = """
    import sys, threading
    def load():
        global tvm_ffi
        import tvm_ffi
    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    """
    code = textwrap.dedent(code) + DIES + "sys.kept = tvm_ffi.Array([Dies()])\n"
    assert ends(run_python(code)) == ["dead"]


def test_finalizers_at_shutdown_may_call_and_be_called(run_python):
    code = """
    own = {"call": kernels.call, "Array": tvm_ffi.Array, "convert_func": tvm_ffi.convert_func}
    exec('''
    function = convert_func(lambda x: x + 1)
    def act():
        return str([call(function, 41), Array([function, object()])[0](1)])
    ''', own)
    kept = tvm_ffi.Array([Dies(own.pop("act"))])
    """
    assert ends(run_python(BEGIN + DIES + textwrap.dedent(code))) == ["[42, 2]"]


@pytest.mark.parametrize(
    ("value", "cls"),
    [
        ("numpy.zeros(3)", "Tensor"),
        ("type('Fresh', (), {})()", "Fresh"),
        ("type('Fresh', (), {'__tvm_ffi_int__': lambda self: 7})()", "int"),
        ("type('Fresh', (core.ObjectConvertible,), {'asobject': lambda self: 'a'})()", "str"),
        ("type('Fresh', (core.String,), {})('text')", "str"),
        ("type('Fresh', (tuple,), {})((1, 2))", "Array"),
    ],
)
def test_finalizers_at_shutdown_may_pass_values_of_new_classes(run_python, value, cls):
    """The conversion rules run after the globals of our modules have been cleared."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip(
            "without a GIL, only the garbage collector frees functions, and it no longer runs"
        )
    code = f"""
    import numpy
    from tvm_ffi import core
    own = {{"call": kernels.call, "value": {value}}}
    exec('''
    def act():
        return call(lambda x: type(x).__name__, value)
    ''', own)
    sys.kept = tvm_ffi.Array([Dies(own.pop("act"))])
    """
    assert ends(run_python(BEGIN + DIES + textwrap.dedent(code))) == [cls]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("type(convert(numpy.float32(2))).__name__", "OpaquePyObject"),
        ("type(convert(print)).__name__", "Function"),
        ("type(convert(object())).__name__", "OpaquePyObject"),
        (
            "[int32.is_integer, int32.is_float, int32.is_bool, int32.is_handle]",
            "[True, False, False, False]",
        ),
        ("[library.is_runnable(), library.is_binary_serializable()]", "[True, True]"),
        ("library.is_compilation_exportable()", "False"),
    ],
)
def test_finalizers_at_shutdown_may_convert_and_inspect_values(run_python, expression, expected):
    """The functions that answer were imported on first use, which fails during shutdown."""
    code = f"""
    import numpy
    own = {{"convert": tvm_ffi.convert, "int32": tvm_ffi.dtype("int32"), "library": kernels}}
    own["numpy"] = numpy
    exec('def act():\\n    return str({expression})', own)
    import builtins
    builtins.kept = Dies(own.pop("act"))
    """
    assert ends(run_python(BEGIN + DIES + textwrap.dedent(code))) == [expected]


# The interpreter gate waits at exit for a native thread inside, and releases the GIL while it
# waits.
STAY = """
def stay():
    while True:
        time.sleep(0.001)

kernels.call_later(stay, 0)
"""


def test_daemon_threads_with_callbacks_print_nothing_at_shutdown(run_python):
    """Their callbacks were refused before the threads were stopped, and a traceback was printed."""
    code = """
    import threading
    def spin():
        while True:
            kernels.call(lambda *_: [object()], 1)
            tvm_ffi.Array([object(), "a text of some length"])

    for _ in range(4):
        threading.Thread(target=spin, daemon=True).start()
    time.sleep(0.1)
    print("bye")
    """
    assert ends(run_python(BEGIN + STAY + textwrap.dedent(code))) == ["bye"]


COME_LATE = """
class Slow:
    call, function = kernels.call_later, tvm_ffi.convert_func(print)

    def __del__(self, sleep=time.sleep):
        self.call(self.function, 100)
        sleep(0.4)

slow = Slow()
"""
REFUSED = "cannot call a Python function: the interpreter has shut down"


@pytest.mark.parametrize("how", ["_run_exitfuncs", "_clear"])
def test_the_gate_stays_open_if_exit_handlers_run_or_are_cleared_early(run_python, how):
    """The gate closed after early exit handlers, and never closed if they were cleared."""
    code = f"""
    import atexit
    first = tvm_ffi.convert_func(len)
    atexit.{how}()
    kernels.call_on_thread(print, "called")
    """
    result = run_python(BEGIN + textwrap.dedent(code) + COME_LATE)
    assert ends(result) == ["called", REFUSED]


def test_exit_handlers_may_be_run_several_times(run_python):
    code = """
    import atexit
    for i in range(3):
        atexit.register(print, "handler", i)
        atexit._run_exitfuncs()
        kernels.call_on_thread(print, "called", i)
    atexit.register(print, "last handler")
    """
    result = run_python(BEGIN + textwrap.dedent(code) + COME_LATE)
    rounds = [line for i in range(3) for line in (f"handler {i}", f"called {i}")]
    assert ends(result) == [*rounds, "last handler", REFUSED]


@pytest.mark.undebugged("callbacks of the debug context are the first")
def test_a_signal_during_the_first_callback_does_not_cost_the_exit_handler(run_python):
    """Regression: imports ran handlers of signals, whose exceptions were printed and dropped."""
    code = """
    import atexit

    class Interrupting:
        def find_spec(self, name, path=None, target=None):
            raise KeyboardInterrupt

    before = atexit._ncallbacks()
    del sys.modules["atexit"]
    sys.meta_path.insert(0, Interrupting())
    tvm_ffi.convert(len)
    sys.meta_path.pop(0)
    print(atexit._ncallbacks() - before)
    """
    assert ends(run_python(BEGIN + textwrap.dedent(code))) == ["1"]
