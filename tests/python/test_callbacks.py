# SPDX-License-Identifier: Apache-2.0
"""Python called by native code: what arrives, what goes back, on which thread, and until when."""

from __future__ import annotations

import ctypes
import functools
import gc
import pickle
import sys
import textwrap
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core, libinfo
from tvm_ffi._binding.object import live_object_count
from tvm_ffi._binding.types import type_index_of
from tvm_ffi.dataclasses import py_class


class Owner:
    """A callable that can be weakly referenced."""

    def __call__(self, *args):
        return len(args)


def vector(*values):
    return tvm_ffi.from_dlpack(np.array(values, np.float32))


def call_with_count(function, count):
    """Call with so many arguments, which are at no address; return the code and the error."""
    library = ctypes.CDLL(libinfo.find_libtvm_ffi())
    result, error = (ctypes.c_int64 * 2)(), ctypes.c_void_p()
    handle = ctypes.c_void_p(function.__chandle__())
    code = library.TVMFFIFunctionCall(handle, None, count, ctypes.byref(result))
    library.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
    if error:
        library.TVMFFIObjectDecRef(error)
    return code, bool(error)


@pytest.mark.parametrize("count", [-1, -2, -(2**31)])
def test_fewer_arguments_than_none(count):
    """Callbacks took a negative number of arguments for a large one."""
    assert call_with_count(tvm_ffi.convert(lambda *args: len(args)), count) == (-1, True)
    for name in ("ffi.Array", "ffi.SystemLib"):
        assert call_with_count(tvm_ffi.get_global_func(name), count) == (0, False)
    for name in ("ffi.Map", "ffi.Dict"):  # take pairs
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
def test_values_arrive_and_go_back(kernels, value):
    seen = []

    def record(argument):
        seen.append(argument)
        return argument

    assert kernels.call(record, value) == value
    assert seen == [value]
    assert type(seen[0]) is type(value) or isinstance(seen[0], type(value))


def test_opaque_object_arrives_as_itself(kernels):
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


def test_read_only_result_keeps_its_mark(kernels):
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


def test_bytes_that_a_callback_lends_are_copied(kernels):
    """Results were packed like arguments: the caller got the address of a dead object."""
    lend = tvm_ffi.convert_func(lambda: core.ByteArrayArg(b"bytes of a dead object"))
    assert lend() == b"bytes of a dead object"


def test_callback_cannot_return_a_moved_object(kernels):
    """Results were packed like arguments: the caller got the address of a dead wrapper's field."""
    array = tvm_ffi.Array([1, 2])
    move = tvm_ffi.convert_func(array._move)
    with pytest.raises(TypeError, match="ObjectRValueRef is for arguments"):
        move()
    assert array == [1, 2]


# ---- lent tensors ------------------------------------------------------------------------------


def test_lent_tensor_can_be_looked_at_during_the_call(kernels):
    seen = []

    def look(tensor):
        seen.append((tensor.shape, tensor.strides, str(tensor.dtype), str(tensor.device)))
        seen.append((tensor.data_ptr(), tensor.__chandle__(), kernels.count(tensor)))

    x = vector(1, 2, 3)
    kernels.call_with_lent(look, x)
    assert seen == [((3,), (1,), "float32", "cpu:0"), (x.data_ptr(), 0, 1)]


def test_lent_tensor_can_be_passed_on_during_the_call(kernels):
    x, y = vector(1, 2, 3), vector(0, 0, 0)
    kernels.call_with_lent(lambda lent: kernels.add_one(lent, y), x)
    assert y.numpy().tolist() == [2, 3, 4]


def with_torch(tensor):
    return pytest.importorskip("torch").from_dlpack(tensor)


# How other libraries look at the memory of a lent tensor.
VIEWS = {
    "legacy": lambda t: t.__dlpack__(),
    "versioned": lambda t: t.__dlpack__(max_version=(1, 3)),
    "numpy": np.from_dlpack,
    "torch": with_torch,
    "ours": tvm_ffi.from_dlpack,
    "method": lambda t: t.numpy(),
    "asarray": np.asarray,
}
ARRAY_VIEWS = [name for name in VIEWS if name not in ("legacy", "versioned", "ours")]


@pytest.mark.parametrize("name", ARRAY_VIEWS)
def test_lent_tensor_is_read_and_written_by_other_libraries_during_the_call(kernels, name):
    def double(tensor):
        array = VIEWS[name](tensor)
        assert array[2] == 3
        array *= 2

    x = vector(1, 2, 3)
    kernels.call_with_lent(double, x)
    assert x.numpy().tolist() == [2, 4, 6]
    assert kernels.count() == 0


def test_lent_tensor_without_strides_and_without_elements_is_shown(kernels):
    shapes = []
    for shape in [(2, 0, 3), (), (2, 3)]:
        kernels.call_with_lent(lambda t: shapes.append(t.numpy().shape), np.zeros(shape, np.int32))
    assert shapes == [(2, 0, 3), (), (2, 3)]


def test_our_own_tensor_of_a_lent_one_travels_to_functions_that_want_an_owner(kernels):
    x = vector(1, 2, 3)
    seen = []
    kernels.call_with_lent(lambda t: seen.append(kernels.count(tvm_ffi.from_dlpack(t))), x)
    assert seen == [1]


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("is_returned", [False, True], ids=["kept", "returned"])
def test_view_of_a_lent_tensor_that_outlives_the_call_is_an_error(kernels, view, is_returned):
    kept = []

    def keep(tensor):
        seen = view(tensor)
        if is_returned:
            return seen
        kept.append(seen)
        return None

    with pytest.raises(BufferError, match="argument #0 of the callback was lent .* outlives it"):
        kernels.call_with_lent(keep, vector(1, 2, 3))
    kernels.call_with_lent(lambda tensor: None, vector(1, 2, 3))


def test_view_of_a_lent_tensor_in_a_garbage_cycle_is_none(kernels):
    def make_cycle(tensor):
        cycle = [np.from_dlpack(tensor)]
        cycle.append(cycle)

    kernels.call_with_lent(make_cycle, vector(1, 2, 3))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes before 3.11")
def test_callback_that_raises_says_so_and_that_its_arrays_are_not_to_be_looked_at(kernels):
    def fail(tensor):
        array = np.from_dlpack(tensor)
        raise KeyError(len(array))

    with pytest.raises(KeyError, match="3") as caught:
        kernels.call_with_lent(fail, vector(1, 2, 3))
    (note,) = caught.value.__notes__
    assert "argument #0 of the callback was lent" in note


def test_an_exception_that_refuses_notes_arrives_from_a_callback_with_arrays(kernels):
    """The refusal took its place, and the arguments were never released."""

    class Refusing(Exception):
        def add_note(self, note):
            raise KeyboardInterrupt

    def fail(tensor):
        kept.append(np.from_dlpack(tensor))
        raise Refusing

    kept = []
    gc.collect()
    before = live_object_count()
    with pytest.raises(Refusing):
        kernels.call_with_lent(fail, np.zeros(3))
    kept.clear()
    gc.collect()
    assert live_object_count() == before


USES = {
    "shape": lambda t: t.shape,
    "strides": lambda t: t.strides,
    "dtype": lambda t: t.dtype,
    "device": lambda t: t.device,
    "data_ptr": lambda t: t.data_ptr(),
    "byte_offset": lambda t: t.byte_offset,
    "ndim": lambda t: t.ndim,
    "numel": lambda t: t.numel(),
    "size": lambda t: t.size(0),
    "is_contiguous": lambda t: t.is_contiguous(),
    "dlpack": lambda t: t.__dlpack__(),
    "dlpack_device": lambda t: t.__dlpack_device__(),
    "readonly": lambda t: t.readonly,
    "from_dlpack": tvm_ffi.from_dlpack,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_lent_tensor_is_empty_after_the_call(kernels, use):
    kept = []
    kernels.call_with_lent(kept.append, vector(1, 2, 3))
    with pytest.raises(ValueError, match="Tensor is empty"):
        use(kept[0])


def test_lent_tensor_is_refused_as_argument_after_the_call(kernels):
    kept = []
    kernels.call_with_lent(kept.append, vector(1, 2, 3))
    with pytest.raises(ValueError, match=r"argument #0 when calling `count`: Tensor is empty"):
        kernels.count(kept[0])
    assert "None" in repr(kept[0])


def test_lent_tensor_is_empty_after_a_callback_that_raised(kernels):
    kept = []

    def fail(tensor):
        kept.append(tensor)
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        kernels.call_with_lent(fail, vector(1, 2, 3))
    with pytest.raises(ValueError, match="Tensor is empty"):
        kept[0].shape  # noqa: B018


def test_lent_tensor_cannot_be_returned(kernels):
    with pytest.raises(ValueError, match="lent"):
        kernels.call_with_lent(lambda tensor: tensor, vector(1, 2, 3))


class _StandsFor(core.ObjectConvertible):
    def __init__(self, value):
        self.value = value

    def asobject(self):
        return self.value


@py_class("test.callbacks.Holder")
class _Holder(core.Object):
    value: Any = None


def _store(tensor):
    holder = _Holder()
    holder.value = tensor


# Where a value is put that outlives the call.
KEEPERS = {
    "array": lambda t: tvm_ffi.Array([t]),
    "list": lambda t: tvm_ffi.List([1, [t]]),
    "map": lambda t: tvm_ffi.Map({1: t}),
    "dict": lambda t: tvm_ffi.Dict({"a": t}),
    "key": lambda t: tvm_ffi.Dict({t: 1}),
    "append": lambda t: tvm_ffi.List([]).append(t),
    "insert": lambda t: tvm_ffi.List([1]).insert(0, t),
    "set item": lambda t: tvm_ffi.List([1]).__setitem__(0, t),
    "extend": lambda t: tvm_ffi.List([1]).extend([t]),
    "set key": lambda t: tvm_ffi.Dict({}).__setitem__(1, t),
    "by name": lambda t: tvm_ffi.get_global_func("ffi.Array")(1, t),
    "constructor": _Holder,
    "field": _store,
    "attribute": lambda t: core._register_type_attr(
        type_index_of(_Holder()), "test_lent_attribute", t
    ),
    "stand-in": lambda t: tvm_ffi.List([]).append(_StandsFor(t)),
    "stand-in in array": lambda t: tvm_ffi.Array([_StandsFor(t)]),
    "readonly": lambda t: tvm_ffi.List([]).append(tvm_ffi.readonly(t)),
    "readonly in array": lambda t: tvm_ffi.Array([tvm_ffi.readonly(t)]),
    "any": core.CAny,
    "argument of a list": lambda t: tvm_ffi.convert_func(len)([t]),
}


@pytest.mark.parametrize("name", KEEPERS)
def test_lent_tensor_cannot_be_kept(kernels, name):
    """Its description was copied as a pointer, which others followed when the call was over."""
    refused = []

    def callback(tensor):
        with pytest.raises(BufferError, match="cannot keep a tensor that is lent for this call"):
            KEEPERS[name](tensor)
        refused.append(True)

    kernels.call_with_lent(callback, np.zeros(3))
    assert refused == [True]
    KEEPERS[name](tvm_ffi.from_dlpack(np.zeros(3)))


def test_lent_tensor_may_be_compared_with_what_is_kept(kernels):
    answers = []

    def look(tensor):
        answers.append(tensor in tvm_ffi.List([1]))
        answers.append(tvm_ffi.Dict({1: 2}).get(tensor))
        answers.append(kernels.count(tvm_ffi.readonly(tensor), tensor))
        answers.append(kernels.data_address(tvm_ffi.readonly(tensor)).value == tensor.data_ptr())

    kernels.call_with_lent(look, np.zeros(3))
    assert answers == [False, None, 2, True]


def test_owner_of_a_lent_tensor_stays_usable(kernels):
    x = vector(1, 2, 3)
    kernels.call_with_lent(lambda _: None, x)
    assert x.numpy().tolist() == [1, 2, 3]


# ---- recursion ---------------------------------------------------------------------------------


def test_python_and_native_code_call_each_other_200_deep(kernels):
    def down(depth):
        return 0 if depth == 0 else 1 + kernels.call(down, depth - 1)

    assert down(200) == 200


def test_exception_travels_through_200_levels(kernels):
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


def test_callback_may_release_itself(kernels):
    def forget():
        kernels.forget()
        gc.collect()
        return "done"

    kernels.keep(forget)
    del forget
    assert kernels.call_kept() == "done"


def test_callable_written_in_c_may_release_itself(kernels):
    """What the call needs of the callable is used until it returns."""

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


def test_callback_is_released_when_native_code_lets_go(kernels):
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


def test_array_and_text_are_released_on_a_native_thread(kernels):
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


def test_destructor_that_raises_on_a_native_thread_does_no_harm(kernels, monkeypatch):
    class Loud(Owner):
        def __del__(self):
            raise ValueError("from __del__")

    reports = []
    monkeypatch.setattr("sys.unraisablehook", reports.append)
    kernels.keep_object(Loud())
    kernels.release_on_thread()
    assert [str(report.exc_value) for report in reports] == ["from __del__"]


# ---- shutdown ----------------------------------------------------------------------------------


def test_callback_after_the_interpreter_is_gone_is_an_error(run_python):
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


def test_registered_function_after_the_interpreter_is_gone_is_an_error(run_python):
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
    """These run before the interpreter goes; threads of native code may still be busy."""
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


def test_callables_that_native_code_still_has_at_shutdown_do_no_harm(run_python):
    result = run_python(
        LATE + "kernels.keep(Late('kept').__del__)\n"
        "tvm_ffi.register_global_func('late', Late('registered').__del__)\n"
    )
    assert (result.returncode, result.stderr) == (0, "")


# ---- what convert_func takes -------------------------------------------------------------------


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


def test_error_class_is_not_taken_for_an_error(kernels):
    assert isinstance(kernels.echo(ValueError), core.Function)


# ---- tensors as objects of a framework -----------------------------------------------------------


def test_tensors_arrive_as_objects_of_the_class_that_is_named(kernels):
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


def test_tensors_in_containers_arrive_as_objects_of_that_class(kernels):
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


def test_functions_can_be_converted_again_for_a_class_of_tensors(kernels):
    torch = pytest.importorskip("torch")
    function = tvm_ffi.convert_func(kernels.echo, tensor_cls=torch.Tensor)
    assert function is not kernels.echo
    assert torch.equal(torch.from_dlpack(function(np.arange(3))), torch.arange(3))


def test_class_of_tensors_travels_in_pickles():
    torch = pytest.importorskip("torch")
    function = pickle.loads(pickle.dumps(tvm_ffi.convert_func(type, torch.Tensor)))
    assert function(np.zeros(2))(3).shape == (3,)


@pytest.mark.parametrize("cls", [int, "torch.Tensor", tvm_ffi.Tensor, np.ndarray], ids=str)
def test_class_without_an_exchange_table_is_a_type_error(cls):
    with pytest.raises(TypeError, match="must expose __dlpack_c_exchange_api__"):
        tvm_ffi.convert_func(len, cls)


def test_class_with_a_broken_exchange_table_is_a_value_error():
    with pytest.raises(ValueError, match="dlpack_exchange_api"):
        tvm_ffi.convert_func(len, type("Broken", (), {"__dlpack_c_exchange_api__": "no table"}))
