# SPDX-License-Identifier: Apache-2.0
"""Python callbacks: arguments, results, recursion, native threads and interpreter shutdown."""

from __future__ import annotations

import ctypes
import functools
import gc
import pickle
import textwrap
import threading
import weakref

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core, libinfo


class Owner:
    """A callable object that can be weakly referenced."""

    def __call__(self, *args):
        return len(args)


def call_with_count(function, count):
    """Call with `count` arguments at NULL; return the code, and True if an error was pending."""
    library = ctypes.CDLL(libinfo.find_libtvm_ffi())
    result, error = (ctypes.c_int64 * 2)(), ctypes.c_void_p()
    handle = ctypes.c_void_p(function.__chandle__())
    code = library.TVMFFIFunctionCall(handle, None, count, ctypes.byref(result))
    library.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
    if error:
        library.TVMFFIObjectDecRef(error)
    return code, bool(error)


@pytest.mark.parametrize("count", [-1, -2, -(2**31)])
def test_a_negative_argument_count_is_refused(count):
    """Callbacks read a negative argument count as a large unsigned count."""
    assert call_with_count(tvm_ffi.convert(lambda *args: len(args)), count) == (-1, True)
    for name in ("ffi.Array", "ffi.SystemLib"):
        assert call_with_count(tvm_ffi.get_global_func(name), count) == (0, False)
    for name in ("ffi.Map", "ffi.Dict"):  # arguments of the operations are pairs
        refused = count % 2 == 1
        assert call_with_count(tvm_ffi.get_global_func(name), count) == (-refused, refused)


# ---- arguments and results ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**63),
        2**63,
        -(10**40),
        1.5,
        "",
        "seven b",
        "eight by",
        "caf\u00e9 " * 10,
        b"",
        b"seven b",
        b"\0eight by",
        tvm_ffi.device("cuda:2"),
        tvm_ffi.dtype("int8x4"),
        tvm_ffi.Shape((3, 4)),
    ],
    ids=repr,
)
def test_values_are_passed_and_returned(kernels, value):
    seen = []

    def record(argument):
        seen.append(argument)
        return argument

    assert kernels.call(record, value) == value
    assert seen == [value]
    assert type(seen[0]) is type(value) or isinstance(seen[0], type(value))


def test_an_opaque_object_arrives_as_the_same_object(kernels):
    value = object()
    assert kernels.call(lambda x: x, value) is value


def test_arguments_arrive_in_order(kernels):
    assert kernels.call(lambda *args: " ".join(args), "a", "b", "c", "d", "e") == "a b c d e"


@pytest.mark.parametrize("count", [0, 1, 8, 9, 31, 32, 33, 100])
def test_any_number_of_arguments_arrives(kernels, count):
    assert kernels.call(lambda *args: sum(args), *range(count)) == sum(range(count))


def test_raw_string_arrives_as_str(kernels):
    assert kernels.call_with_raw_str(lambda text: text + "!") == "raw str\u00e9!"


def test_byte_array_arrives_as_bytes(kernels):
    assert kernels.call_with_byte_array(lambda content: content) == b"a\0b\xff"


def test_pointer_arrives_as_c_void_p(kernels):
    values = []
    kernels.call(values.append, ctypes.c_void_p(0x1234))
    assert isinstance(values[0], ctypes.c_void_p)
    assert values[0].value == 0x1234


def test_moved_object_arrives_and_leaves_the_slot_empty(kernels):
    function = tvm_ffi.convert_func(lambda: 5)
    seen = []
    assert kernels.call_with_moved(seen.append, function) is True
    assert seen[0]() == 5


def test_moved_out_slot_is_a_value_error(kernels):
    with pytest.raises(ValueError, match="RValueRef already moved"):
        kernels.call_with_moved_out(lambda _: 1)
    assert kernels.count() == 0


def test_function_argument_can_be_called(kernels):
    assert kernels.call(lambda f, x: f(x), kernels.echo, "through") == "through"


def test_tensor_argument_can_be_kept(kernels):
    kept = []
    array = np.arange(4, dtype=np.float32)
    kernels.call(kept.append, array)
    address = array.ctypes.data
    del array
    gc.collect()
    assert kept[0].data_ptr() == address
    assert kept[0].numpy().tolist() == [0, 1, 2, 3]


def test_tensor_result_is_passed_on(kernels):
    array = np.arange(4, dtype=np.float32)
    assert kernels.call(lambda: array).data_ptr() == array.ctypes.data


def test_a_read_only_result_stays_read_only(kernels):
    array = np.arange(4, dtype=np.float32)
    array.flags.writeable = False
    assert kernels.call(lambda: array).readonly


def test_wrong_number_of_arguments_is_a_type_error(kernels):
    with pytest.raises(TypeError, match="positional argument"):
        kernels.call(lambda: 1, 2)


def test_result_that_cannot_be_passed_is_an_error(kernels):
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        kernels.call(lambda: "\ud800")
    assert kernels.call(lambda: "fine") == "fine"


def test_borrowed_bytes_returned_by_a_callback_are_copied(kernels):
    """Regression: results were packed like arguments; the caller got a freed object's address."""
    lend = tvm_ffi.convert_func(lambda: core.ByteArrayArg(b"bytes of a dead object"))
    assert lend() == b"bytes of a dead object"


def test_callback_cannot_return_a_moved_object(kernels):
    """Regression: results were packed like arguments; the caller got a freed wrapper's address."""
    array = tvm_ffi.Array([1, 2])
    move = tvm_ffi.convert_func(array._move)
    with pytest.raises(TypeError, match="ObjectRValueRef can be passed as an argument only"):
        move()
    assert array == [1, 2]


# ---- recursion ---------------------------------------------------------------------------------


def test_python_and_native_code_call_each_other_200_deep(kernels):
    def down(depth):
        return 0 if depth == 0 else 1 + kernels.call(down, depth - 1)

    assert down(200) == 200


def test_an_exception_passes_through_200_levels(kernels):
    original = LookupError("at the bottom")

    def down(depth):
        if depth == 0:
            raise original
        return kernels.call(down, depth - 1)

    with pytest.raises(LookupError) as caught:
        down(200)
    assert caught.value is original


def test_recursion_without_end_is_a_recursion_error(run_python):
    result = run_python(
        textwrap.dedent("""
            import sys, tvm_ffi
            kernels = tvm_ffi.load_module(sys.argv[1])
            def forever():
                return kernels.call(forever)
            try:
                forever()
            except RecursionError:
                print("RecursionError", kernels.count(1))
        """)
    )
    assert (result.returncode, result.stdout) == (0, "RecursionError 1\n"), result.stderr


@pytest.mark.parametrize("stack_size", [256 * 1024, 1024 * 1024])
def test_recursion_on_a_small_stack_is_a_recursion_error(run_python, stack_size):
    """Regression: the callbacks overflowed the machine stack before Python's recursion limit."""
    result = run_python(
        textwrap.dedent(f"""
            import sys, threading, tvm_ffi
            kernels = tvm_ffi.load_module(sys.argv[1])
            sys.setrecursionlimit(100_000)
            def forever():
                return kernels.call(forever)
            def run():
                for _ in range(2):
                    try:
                        forever()
                    except RecursionError as error:
                        print(error)
            threading.stack_size({stack_size})
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        """)
    )
    message = "the machine stack has no room for another nested callback\n"
    assert (result.returncode, result.stdout) == (0, 2 * message), result.stderr


@pytest.mark.undebugged("an observed call needs more stack")
@pytest.mark.unsanitized("its instrumentation makes the stack frames larger")
def test_a_level_of_recursion_costs_little_stack(run_python):
    """A level is a call of `level` and of `call`, from Python to native code and back."""
    result = run_python(
        textwrap.dedent("""
            import sys, threading, tvm_ffi
            kernels = tvm_ffi.load_module(sys.argv[1])
            sys.setrecursionlimit(100_000)
            depths = []
            def level(depth):
                depths[-1] = depth
                kernels.call(level, depth + 1)
            def run():
                depths.append(0)
                try:
                    level(1)
                except RecursionError:
                    pass
            for size in (512 * 1024, 2048 * 1024):
                threading.stack_size(size)
                thread = threading.Thread(target=run)
                thread.start()
                thread.join()
            print(1536 * 1024 // (depths[1] - depths[0]))
        """)
    )
    assert result.returncode == 0, result.stderr
    assert 100 < int(result.stdout) <= 2048


def test_callback_may_release_itself(kernels):
    def forget():
        kernels.forget()
        gc.collect()
        return "done"

    kernels.keep(forget)
    del forget
    assert kernels.call_kept() == "done"


def test_callable_written_in_c_may_release_itself(kernels):
    """The call uses fields of the callable until it returns, so it needs a reference to it."""

    def forget(value):
        kernels.forget()
        gc.collect()
        return value

    kernels.keep(functools.partial(forget, "kept until the end"))
    assert kernels.call_kept() == "kept until the end"


# ---- threads -----------------------------------------------------------------------------------


def test_callback_runs_on_a_native_thread(kernels):
    threads = []

    def record(value):
        threads.append(threading.get_ident())
        return value + 1

    assert kernels.call_on_thread(record, 41) == 42
    assert threads[0] != threading.get_ident()


def test_callback_raises_on_a_native_thread(kernels):
    def fail():
        raise KeyError("on a thread Python did not make")

    with pytest.raises(KeyError, match="Python did not make") as caught:
        kernels.call_on_thread(fail)
    assert "fail" in caught.value.__tvm_ffi_error__.backtrace
    assert kernels.count() == 0


def test_native_thread_may_call_back_into_native_code(kernels):
    assert kernels.call_on_thread(lambda x: kernels.call_on_thread(kernels.echo, x), "x") == "x"


def test_a_callback_is_released_with_its_last_native_reference(kernels):
    owner = Owner()
    alive = weakref.ref(owner)
    kernels.keep(owner)
    del owner
    assert alive() is not None
    assert kernels.call_kept(1, 2, 3) == 3
    kernels.forget()
    assert alive() is None


@pytest.mark.parametrize("make", [Owner, lambda: [Owner()][0]], ids=["callable", "object"])
def test_owner_is_released_on_a_native_thread(kernels, make):
    owner = make()
    alive = weakref.ref(owner)
    kernels.keep_object(owner)
    del owner
    gc.collect()
    assert alive() is not None
    kernels.release_on_thread()
    assert alive() is None


def test_an_array_and_a_string_are_released_on_a_native_thread(kernels):
    class Array(np.ndarray):
        pass

    class Text(str):
        __slots__ = ("__weakref__",)

    for make in (lambda: np.zeros(3).view(Array), lambda: Text("longer than seven")):
        owner = make()
        alive = weakref.ref(owner)
        kernels.keep_object(owner)
        del owner
        assert alive() is not None
        kernels.release_on_thread()
        assert alive() is None


def test_an_exception_in_a_destructor_on_a_native_thread_is_reported(kernels, monkeypatch):
    class Loud(Owner):
        def __del__(self):
            raise ValueError("from __del__")

    reports = []
    monkeypatch.setattr("sys.unraisablehook", reports.append)
    kernels.keep_object(Loud())
    kernels.release_on_thread()
    assert [str(report.exc_value) for report in reports] == ["from __del__"]


# ---- shutdown ----------------------------------------------------------------------------------


def test_a_callback_after_interpreter_shutdown_is_an_error(run_python):
    result = run_python(
        textwrap.dedent("""
            import sys, tvm_ffi
            kernels = tvm_ffi.load_module(sys.argv[1])
            kernels.keep_object(lambda: print("too late"))
            kernels.call_at_exit()
        """)
    )
    assert (result.returncode, result.stderr) == (0, "")
    first, second = result.stdout.splitlines()
    assert first.startswith("at exit: ")
    assert "interpreter" in first
    assert second == "released"


def test_a_registered_function_after_interpreter_shutdown_is_an_error(run_python):
    result = run_python(
        textwrap.dedent("""
            import sys, tvm_ffi
            kernels = tvm_ffi.load_module(sys.argv[1])
            kernels.keep_object(tvm_ffi.register_global_func("late", lambda: print("too late")))
            kernels.call_at_exit()
        """)
    )
    assert (result.returncode, result.stderr) == (0, "")
    first, second = result.stdout.splitlines()
    assert first.startswith("at exit: cannot call a Python function: the interpreter has shut down")
    assert second == "released"


def test_functions_can_be_called_by_exit_handlers(run_python):
    """Exit handlers run before the interpreter shuts down; native threads may still call."""
    result = run_python(
        textwrap.dedent("""
            import atexit, sys, tvm_ffi
            kernels = tvm_ffi.load_module(sys.argv[1])
            def report(text, *, end=""):
                print(text + end)
            atexit.register(kernels.call_on_thread, report, "from a native thread")
            atexit.register(tvm_ffi.convert_func(report), "with a name", end="!")
            kernels.keep_object(lambda: None)
            kernels.call_for_ever()
        """)
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["with a name!", "from a native thread"]


def test_callbacks_on_a_native_thread_do_not_disturb_the_shutdown(run_python):
    code = textwrap.dedent("""
        import sys, time, tvm_ffi
        kernels = tvm_ffi.load_module(sys.argv[1])
        kernels.keep_object(lambda: [0] * 100)
        kernels.call_for_ever()
        time.sleep(0.05)
        print("bye")
    """)
    for _ in range(5):
        result = run_python(code)
        assert (result.returncode, result.stdout, result.stderr) == (0, "bye\n", "")


LATE = """
import sys, tvm_ffi
kernels = tvm_ffi.load_module(sys.argv[1])
class Late:
    def __init__(self, name):
        self.function = kernels.echo
        self.name = name
    def __del__(self):
        print(self.function(self.name))
late = Late("in main")
"""


def test_functions_can_be_called_by_destructors_at_shutdown(run_python):
    result = run_python(LATE)
    assert (result.returncode, result.stdout, result.stderr) == (0, "in main\n", "")


def test_callables_that_native_code_owns_at_shutdown_are_harmless(run_python):
    result = run_python(
        LATE + "kernels.keep(Late('kept').__del__)\n"
        "tvm_ffi.register_global_func('late', Late('registered').__del__)\n"
    )
    assert (result.returncode, result.stderr) == (0, "")


# ---- arguments of convert_func -----------------------------------------------------------------


def test_convert_func_wraps_a_callable():
    function = tvm_ffi.convert_func(lambda x, y: x - y)
    assert isinstance(function, tvm_ffi.Function)
    assert function(5, 3) == 2


def test_convert_func_returns_functions_unchanged(kernels):
    assert tvm_ffi.convert_func(kernels.echo) is kernels.echo


@pytest.mark.parametrize("value", [None, 3, "text", object()], ids=lambda x: type(x).__name__)
def test_convert_func_of_something_else_is_a_type_error(value):
    with pytest.raises(TypeError, match="callable"):
        tvm_ffi.convert_func(value)


def test_bound_methods_classes_and_builtins_are_callables(kernels):
    assert kernels.call("text".upper) == "TEXT"
    assert kernels.call(int, "12") == 12
    assert kernels.call(len, "four") == 4


def test_an_error_class_is_passed_as_a_callable(kernels):
    assert isinstance(kernels.echo(ValueError), core.Function)


# ---- tensors as framework tensors ----------------------------------------------------------------


def test_tensors_arrive_as_instances_of_the_tensor_class(kernels):
    torch = pytest.importorskip("torch")
    seen = []

    def record(*values, **names):
        seen.extend(type(value) for value in (*values, *names.values()))
        return values[0]

    function = tvm_ffi.convert_func(record, torch.Tensor)
    array = np.arange(3)
    returned = kernels.call(function, array, tvm_ffi.from_dlpack(array), 1, "text")
    function(array, named=array)
    assert seen == [torch.Tensor, torch.Tensor, int, str, torch.Tensor, torch.Tensor]
    assert returned.data_ptr() == array.ctypes.data


def test_tensors_in_containers_arrive_as_instances_of_the_tensor_class(kernels):
    torch = pytest.importorskip("torch")
    seen = []

    def record(array, mapping):
        seen.append(type(array[0]))
        seen.append(type(mapping["a"][0]))

    kernels.call(tvm_ffi.convert_func(record, torch.Tensor), [np.zeros(2)], {"a": [np.zeros(2)]})
    assert seen == [torch.Tensor, torch.Tensor]


def test_torch_tensor_arrives_as_the_same_object(kernels):
    torch = pytest.importorskip("torch")
    given = torch.arange(3)
    seen = []
    kernels.call(tvm_ffi.convert_func(seen.append, torch.Tensor), given)
    assert seen[0] is given


def test_functions_can_be_converted_again_with_a_tensor_class(kernels):
    torch = pytest.importorskip("torch")
    function = tvm_ffi.convert_func(kernels.echo, tensor_cls=torch.Tensor)
    assert function is not kernels.echo
    assert torch.equal(torch.from_dlpack(function(np.arange(3))), torch.arange(3))


def test_pickles_keep_the_tensor_class():
    torch = pytest.importorskip("torch")
    function = pickle.loads(pickle.dumps(tvm_ffi.convert_func(type, torch.Tensor)))
    assert function(np.zeros(2))(3).shape == (3,)


@pytest.mark.parametrize("cls", [int, "torch.Tensor", tvm_ffi.Tensor, np.ndarray], ids=str)
def test_a_class_without_the_exchange_api_is_a_type_error(cls):
    with pytest.raises(TypeError, match="must expose __dlpack_c_exchange_api__"):
        tvm_ffi.convert_func(len, cls)


def test_a_class_with_a_broken_exchange_api_is_a_value_error():
    with pytest.raises(ValueError, match="dlpack_exchange_api"):
        tvm_ffi.convert_func(len, type("Broken", (), {"__dlpack_c_exchange_api__": "no table"}))
