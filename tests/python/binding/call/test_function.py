# SPDX-License-Identifier: Apache-2.0
"""Function objects: calls, refused arguments, subclasses, C function addresses and the GIL."""

from __future__ import annotations

import copy
import ctypes
import gc
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import Function


@pytest.mark.parametrize("count", [*range(21), 100, 1000])
def test_any_number_of_arguments(kernels, count):
    arguments = range(count)
    assert kernels.count(*arguments) == count
    assert Function.__call__(kernels.count, *arguments) == count
    if count:
        assert kernels.last(*arguments) == count - 1


@pytest.mark.parametrize("count", [8, 9, 16, 17, 300])
def test_many_temporaries_in_one_call(kernels, count):
    texts = [f"text on the heap {i}" for i in range(count)]
    arrays = [np.full(2, i) for i in range(count)]
    mixed = [value for pair in zip(texts, arrays) for value in pair]
    assert kernels.count(*mixed) == 2 * count
    assert kernels.last(*mixed).numpy().tolist() == [count - 1] * 2
    assert kernels.last(*mixed, 2**70 + count) == 2**70 + count


@pytest.mark.parametrize("position", [0, 1, 7, 8, 9, 28, 29, 31, 32, 40])
def test_refused_argument_is_named_by_position(kernels, position):
    arguments = ["text on the heap"] * position + [np.zeros(2, object)] + [1.5] * 3
    with pytest.raises(TypeError, match=rf"argument #{position} when calling `count`"):
        kernels.count(*arguments)
    assert kernels.count() == 0


def test_refused_argument_of_a_function_without_a_name(kernel_library):
    symbol = ctypes.CDLL(str(kernel_library)).__getattr__("__tvm_ffi_count")
    function = Function.__from_extern_c__(ctypes.cast(symbol, ctypes.c_void_p).value)
    with pytest.raises(TypeError, match=r"argument #0 when calling `<function at 0x[0-9a-f]+>`"):
        function(np.zeros(2, object))


def test_keywords_are_a_type_error(kernels):
    message = r"count\(\) got an unexpected keyword argument 'x': the function has no signature"
    for call in (kernels.count, kernels.count.__call__, lambda **kw: kernels.count(1, 2, **kw)):
        with pytest.raises(TypeError, match=message):
            call(x=1)
    assert kernels.count() == 0


def test_calling_an_empty_function_is_a_value_error(kernels):
    empty = Function()
    for call in (empty, lambda: empty(1), lambda: Function.__call__(empty, 1, 2)):
        with pytest.raises(ValueError, match="Function is empty"):
            call()
    with pytest.raises(ValueError, match="Function is empty"):
        kernels.call(empty)
    assert repr(empty) == "Function(chandle=None)"


def test_moved_function_is_empty(kernels):
    function = tvm_ffi.convert_func(lambda: 1)
    target = Function()
    target.__move_handle_from__(function)
    assert target() == 1
    with pytest.raises(ValueError, match="Function is empty"):
        function()


def test_functions_are_values(kernels):
    again = kernels["echo"]
    returned = kernels.echo(again)
    assert returned == again
    assert hash(returned) == hash(again)
    assert returned.same_as(again)
    assert again != kernels.count
    assert again != "echo"
    assert repr(returned) == "<tvm_ffi.Function echo>"


def test_functions_can_be_weakly_referenced(kernels):
    function = tvm_ffi.convert_func(lambda: 1)
    alive = weakref.ref(function)
    assert alive() is function
    del function
    gc.collect()
    assert alive() is None


def test_functions_have_attributes(kernels):
    function = tvm_ffi.convert_func(lambda: 1)
    function.note = "anything"
    assert function.note == "anything"
    assert not hasattr(function, "other")


def test_copying_a_function_returns_the_same_object(kernels):
    for use in (copy.copy, copy.deepcopy):
        assert use(kernels.echo) is kernels.echo
    assert copy.deepcopy([kernels.echo, kernels.echo]) == [kernels.echo, kernels.echo]


def test_functions_in_containers_compare_by_identity(kernels, echo):
    assert tvm_ffi.Array([kernels.echo]) == tvm_ffi.Array([echo(kernels.echo)])
    assert tvm_ffi.Array([kernels.echo]) != tvm_ffi.Array([kernels.count])


def test_functions_may_be_used_in_compiled_graphs(kernels):
    """The registry of graph functions holds weak references to the functions."""
    dynamo = pytest.importorskip("torch._dynamo")
    assert dynamo.allow_in_graph(kernels.count) is kernels.count


def test_callable_as_argument_is_a_function(kernels, echo):
    function = echo(lambda x: x * 2)
    assert isinstance(function, Function)
    assert function(21) == 42


# ---- subclasses --------------------------------------------------------------------------------


def test_subclass_may_define_its_own_call(kernels):
    class Doubling(Function):
        def __call__(self, *args):
            return 2 * super().__call__(*args)

    function = Doubling()
    function.__move_handle_from__(kernels.get_function("count"))
    assert function(1, 2, 3) == 6
    assert Function.__call__(function, 1, 2, 3) == 3


def test_call_of_a_subclass_may_be_replaced_later(kernels):
    class Late(Function):
        pass

    function = Late()
    function.__move_handle_from__(kernels.get_function("count"))
    assert function(1) == 1
    Late.__call__ = lambda self, *args: "replaced"
    assert function(1) == "replaced"
    del Late.__call__
    assert function(1) == 1


def test_subclass_may_take_keywords(kernels):
    class WithKeywords(Function):
        def __call__(self, *args, **keywords):
            return super().__call__(*args, *keywords.values())

    function = WithKeywords()
    function.__move_handle_from__(kernels.get_function("count"))
    assert function(1, x=2, y=3) == 3


# ---- functions from addresses ------------------------------------------------------------------

SAFE_CALL = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p
)


def test_function_from_an_address(kernel_library):
    symbol = ctypes.CDLL(str(kernel_library)).__getattr__("__tvm_ffi_count")
    address = ctypes.cast(symbol, ctypes.c_void_p).value
    assert Function.__from_extern_c__(address)(1, 2, 3) == 3


def test_a_function_from_an_address_gets_a_null_handle_and_owns_the_keep_alive_object():
    class Owner:
        pass

    handles = []

    @SAFE_CALL
    def native(handle, args, num_args, result):
        handles.append((handle, num_args))
        return 0

    owner = Owner()
    owner.native = native
    alive = weakref.ref(owner)
    address = ctypes.cast(native, ctypes.c_void_p).value
    function = Function.__from_extern_c__(address, keep_alive_object=owner)
    del owner, native
    gc.collect()
    assert alive() is not None
    assert function(1, 2) is None
    assert handles == [(None, 2)]
    del function
    gc.collect()
    assert alive() is None


def test_function_from_address_zero_is_a_value_error():
    with pytest.raises(ValueError, match="address of a function, got 0"):
        Function.__from_extern_c__(0)


@pytest.mark.parametrize("symbol", ["text", None, 1.5], ids=repr)
def test_function_from_a_wrong_type_is_a_type_error(symbol):
    with pytest.raises(TypeError):
        Function.__from_extern_c__(symbol)


MLIR_CALL = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p))


def test_function_from_an_mlir_packed_call():
    @MLIR_CALL
    def native(fields):
        ctypes.c_int64.from_address(
            ctypes.c_void_p.from_address(fields[3]).value + 8
        ).value = ctypes.c_int32.from_address(fields[2]).value
        # The type and zero_padding.
        ctypes.c_int64.from_address(ctypes.c_void_p.from_address(fields[3]).value).value = 1
        ctypes.c_int32.from_address(fields[4]).value = 0

    address = ctypes.cast(native, ctypes.c_void_p).value
    function = Function.__from_mlir_packed_safe_call__(address, keep_alive_object=native)
    assert function("a", "b") == 2


# ---- the GIL -----------------------------------------------------------------------------------


@pytest.fixture
def ticking():
    """Return an int64 array; another Python thread increments its element."""
    counter = np.zeros(1, np.int64)
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            counter[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    yield counter
    stop.set()
    thread.join()


def test_python_threads_run_during_a_call(kernels, ticking):
    watch = kernels["watch"]
    assert watch.release_gil is True
    assert watch(ticking, 10_000) is True


def test_no_python_thread_runs_during_a_call_that_keeps_the_gil(kernels, ticking):
    watch = kernels["watch"]
    watch.release_gil = False
    # Skipped on free-threaded Python: the other threads run there in any case.
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    assert watch(ticking, 50 if has_gil else 10_000) is not has_gil
    watch.release_gil = True
    assert watch(ticking, 10_000) is True


def test_release_gil_belongs_to_the_wrapper(kernels, echo):
    first = kernels["watch"]
    second = tvm_ffi.Function.__new__(tvm_ffi.Function)
    second.__move_handle_from__(echo(first))
    first.release_gil = False
    assert (first.release_gil, second.release_gil) == (False, True)
    assert first == second


def test_callbacks_work_with_the_gil_kept(kernels):
    call = kernels["call"]
    call.release_gil = False
    assert call(lambda x: x + 1, 1) == 2
    with pytest.raises(KeyError, match="x"):
        call(lambda: {}["x"])


@pytest.mark.parametrize(("value", "expected"), [("0", "False"), ("1", "True"), ("", "True")])
def test_default_comes_from_the_environment(run_python, value, expected):
    result = run_python(
        "import tvm_ffi; print(tvm_ffi.convert_func(len).release_gil)",
        TVM_FFI_RELEASE_GIL_BY_DEFAULT=value,
    )
    assert (result.returncode, result.stdout) == (0, expected + "\n"), result.stderr


@pytest.mark.parametrize("value", ["yes", "1.0", "-1", "2", "00000000000000000001", "1" * 5000])
def test_wrong_default_is_an_error_that_names_the_variable(run_python, value):
    """Regression: the error about a wrong number did not name the environment variable."""
    result = run_python("import tvm_ffi", TVM_FFI_RELEASE_GIL_BY_DEFAULT=value)
    message = f"TVM_FFI_RELEASE_GIL_BY_DEFAULT must be 0 or 1, got {value[:80]!r}"
    assert message in result.stderr


def test_runtime_functions_keep_the_gil_unless_they_block():
    assert tvm_ffi.get_global_func("ffi.ReprPrint").release_gil is False
    # Another thread could change a container while it is printed without the GIL.
    assert tvm_ffi.get_global_func("pytvmffi.ReprPrintAbbreviated").release_gil is False
    assert tvm_ffi.get_global_func("ffi.json.Stringify").release_gil is False
    assert tvm_ffi.get_global_func("ffi.ModuleLoadFromFile").release_gil is True
    assert tvm_ffi.get_global_func("ffi.Module.load_from_file.so").release_gil is True
    assert tvm_ffi.get_global_func("ffi.SystemLib").release_gil is True


def test_a_runtime_function_keeps_the_gil_under_another_name():
    tvm_ffi.register_global_func("test.repr", tvm_ffi.get_global_func("ffi.ReprPrint"))
    try:
        alias = tvm_ffi.get_global_func("test.repr")
        assert alias.release_gil is False
        alias.release_gil = True
        assert alias.release_gil is True
    finally:
        tvm_ffi.registry.remove_global_func("test.repr")


def test_runtime_functions_passed_as_values_keep_the_gil(kernels):
    """Regression: the default of `release_gil` depended on the name used for the lookup."""
    function = tvm_ffi.get_global_func("ffi.ReprPrint")
    assert kernels.echo(function).release_gil is False
    assert tvm_ffi.Array([function])[0].release_gil is False
    received = []
    kernels.call(lambda value: received.append(value.release_gil), function)
    assert received == [False]
    loading = tvm_ffi.get_global_func("ffi.ModuleLoadFromFile")
    assert kernels.echo(loading).release_gil is True


def test_a_user_function_named_like_a_runtime_function_releases_the_gil():
    tvm_ffi.register_global_func("ffi.test.wait", lambda: None)
    try:
        assert tvm_ffi.get_global_func("ffi.test.wait").release_gil is True
    finally:
        tvm_ffi.registry.remove_global_func("ffi.test.wait")


# ---- the base class of all wrappers --------------------------------------------------------------


def test_constructor_protocol(kernels):
    function = Function()
    function.__init_handle_by_constructor__(kernels.echo, kernels.count)
    assert function(1, 2) == 2
    with pytest.raises(
        TypeError, match="a constructor function must return a native object, got int"
    ):
        function.__init_handle_by_constructor__(kernels.count)


@pytest.mark.parametrize("source", [None, 3, "x"], ids=repr)
def test_moving_a_handle_from_something_else_is_a_type_error(source):
    with pytest.raises(TypeError):
        Function().__move_handle_from__(source)


def test_moving_a_handle_from_itself_changes_nothing(kernels):
    function = kernels.get_function("count")
    function.__move_handle_from__(function)
    assert function(1) == 1
