# SPDX-License-Identifier: Apache-2.0
"""Prepared calls (`Function.prepare`), whose arguments are packed once."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import codegen, cpp


def test_arguments_reach_the_function(kernels):
    assert list(kernels.softmax.prepare(1, y=2)()) == [1, 2, 1.0]
    assert list(kernels.softmax.prepare(1, 2, temperature=3)()) == [1, 2, 3.0]
    assert kernels.last.prepare(1, "a text that is long enough")() == "a text that is long enough"
    assert kernels.noop.prepare()() is None


def test_each_call_returns_a_new_result(kernels):
    call = kernels.softmax.prepare([1], "a")
    first, second = call(), call()
    assert list(first[0]) == list(second[0]) == [1]
    assert not first.same_as(second)


def test_buffers_are_shared(kernels):
    array = np.zeros(3)
    call = kernels.echo.prepare(array)
    array[:] = 5
    assert np.from_dlpack(call()).tolist() == [5, 5, 5]
    assert call().data_ptr() == array.ctypes.data


def test_torch_results_are_torch_tensors(kernels):
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(3)
    call = kernels.echo.prepare(tensor)
    tensor += 1
    assert torch.equal(call(), torch.ones(3))
    assert type(call()) is torch.Tensor


def test_arguments_live_as_long_as_the_call(kernels):
    class Array(np.ndarray):
        pass

    array = np.zeros(3).view(Array)
    alive = weakref.ref(array)
    call = kernels.echo.prepare(array)
    del array
    gc.collect()
    assert call().shape == (3,)
    del call
    gc.collect()
    assert alive() is None


def test_preparation_raises_the_errors_of_a_call(kernels):
    with pytest.raises(
        TypeError, match="softmax\\(\\) missing 1 required positional argument: 'y'"
    ):
        kernels.softmax.prepare(1)
    with pytest.raises(TypeError, match="argument 'x' when calling `softmax`"):
        kernels.softmax.prepare(np.array(["text"]), 1)
    message = r"^echo\(\) got an unexpected keyword argument 'x': the function has no signature"
    with pytest.raises(TypeError, match=message):
        kernels.echo.prepare(x=1)
    with pytest.raises(BufferError, match="it is unknown whether"):
        kernels.echo.prepare(np.broadcast_to(1.0, (3,)))
    with pytest.raises(TypeError, match="a prepared call takes no positional arguments"):
        kernels.echo.prepare(1)(2)


def test_errors_of_the_function_are_raised(kernels):
    with pytest.raises(ZeroDivisionError):
        tvm_ffi.convert(lambda value: 1 // value).prepare(0)()
    with pytest.raises(TypeError, match="expected a tensor"):
        kernels.call_with_borrowed.prepare(len, 5)()


def test_a_python_callable_is_called_each_time(kernels):
    seen = []
    call = tvm_ffi.convert(seen.append).prepare(5)
    call()
    call()
    assert seen == [5, 5]


def test_borrowed_tensors_cannot_be_prepared(kernels):
    refused = []

    def callback(borrowed):
        try:
            kernels.echo.prepare(borrowed)
        except BufferError as error:
            refused.append(str(error))

    kernels.call_with_borrowed(callback, np.zeros(3))
    assert refused
    assert "cannot store a tensor whose memory is borrowed until the call returns" in refused[0]


def test_calling_an_empty_call_raises():
    call = type(tvm_ffi.convert(len).prepare([]))()
    with pytest.raises(ValueError, match="PreparedCall is empty"):
        call()


def test_calling_a_prepared_call_of_a_moved_function_raises(kernels):
    function = kernels.get_function("echo")
    call = function.prepare(1)
    other = tvm_ffi.Function.__new__(tvm_ffi.Function)
    other.__move_handle_from__(function)
    with pytest.raises(ValueError, match="Function is empty"):
        call()


def test_bind_is_the_earlier_name(kernels):
    assert type(kernels.echo.bind(1)) is tvm_ffi.PreparedCall
    assert type(kernels.echo.prepare(1)) is tvm_ffi.PreparedCall
    assert tvm_ffi.core.BoundCall is tvm_ffi.PreparedCall


# ---- Slots ---------------------------------------------------------------------------------------


def test_a_keyword_replaces_an_argument_in_one_run(kernels):
    call = kernels.softmax.prepare(1, 2)
    assert list(call(y=5)) == [1, 5, 1.0]
    assert list(call(temperature=3, x=7)) == [7, 2, 3.0]  # an int becomes the declared float
    assert list(call()) == [1, 2, 1.0]


def test_an_assignment_replaces_an_argument_in_later_runs(kernels):
    call = kernels.softmax.prepare(1, 2)
    call.x = 7
    call[1] = 8
    call["temperature"] = 4
    assert list(call()) == [7, 8, 4.0]
    assert (call.x, call["y"], call[2]) == (7, 8, 4.0)


def test_slots_without_names_have_indices(kernels):
    call = kernels.last.prepare(1, "a text that is long enough")
    call[1] = "b"
    assert call() == "b"
    assert call[1] == "b"
    with pytest.raises(AttributeError, match="the function has no signature; use the index"):
        call.x = 1
    with pytest.raises(TypeError, match="the function has no signature; use the index"):
        call(x=1)


def test_unknown_slots_are_errors(kernels):
    call = kernels.softmax.prepare(1, 2)
    names = "no slot is named 'z'; the slots are x, y, temperature"
    with pytest.raises(TypeError, match=names):
        call(z=1)
    with pytest.raises(AttributeError, match=names):
        call.z = 1
    with pytest.raises(KeyError, match=names):
        call["z"] = 1
    with pytest.raises(IndexError, match="has no slot 3; it has 3 slots"):
        call[3] = 1
    with pytest.raises(IndexError, match="has no slot -1"):
        call[-1]
    with pytest.raises(AttributeError, match="has no attribute 'z'"):
        call.z  # noqa: B018
    with pytest.raises(AttributeError, match="'function' is an attribute of PreparedCall"):
        call.function = 1
    assert list(call()) == [1, 2, 1.0]


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_new_array_has_the_facts_of_the_first_one(kernels, kind):
    library = pytest.importorskip(kind)
    call = kernels.softmax.prepare(library.zeros((2, 3)), 1)
    other = library.ones((2, 3))
    assert library.from_dlpack(call(x=other)[0]).tolist() == [[1, 1, 1], [1, 1, 1]]
    assert library.from_dlpack(call()[0]).tolist() == [[0, 0, 0], [0, 0, 0]]
    call.x = other
    assert library.from_dlpack(call()[0]).tolist() == [[1, 1, 1], [1, 1, 1]]
    for wrong, cls, message in [
        (library.ones((3, 3)), ValueError, r"expected shape \(2, 3\) as prepared, got \(3, 3\)"),
        (library.ones((6,)), ValueError, r"expected shape \(2, 3\) as prepared, got \(6,\)"),
        (library.ones((2, 3), dtype=library.int16), TypeError, "as prepared, got int16"),
        (library.ones((3, 2)).T, ValueError, r"as prepared, got \(1, 2\)"),
        (7, TypeError, "expected ffi.Tensor as prepared, got int"),
    ]:
        where = f"argument 'x' when calling `softmax`: slot 0: .*{message}"
        with pytest.raises(cls, match=where):
            call(x=wrong)
        with pytest.raises(cls, match=where):
            call.x = wrong
        assert library.from_dlpack(call()[0]).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_an_update_replaces_all_slots_or_none(kernels):
    call = kernels.softmax.prepare(1, 2)
    call.update(x=3, y=4)
    assert list(call()) == [3, 4, 1.0]
    call.update({0: 5, "y": 6}, temperature=2)
    assert list(call()) == [5, 6, 2.0]
    with pytest.raises(TypeError, match="slot 1: expected int as prepared, got ffi.String"):
        call.update(x=9, y="text")
    assert list(call()) == [5, 6, 2.0]
    assert call.x == 5
    call.update()


def test_an_update_takes_the_address_of_a_tensor(kernels):
    first, second = np.zeros(3), np.arange(3.0)
    call = kernels.echo.prepare(first)
    call.update({0: second.ctypes.data})
    assert np.from_dlpack(call()).tolist() == [0, 1, 2]
    assert np.from_dlpack(call[0]).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="got int"):
        call[0] = second.ctypes.data
    with pytest.raises(ValueError, match="expected the address of the elements, got NULL"):
        call.update({0: 0})
    assert np.from_dlpack(call()).tolist() == [0, 1, 2]


def test_many_arguments(kernels):
    call = kernels.last.prepare(*range(40))
    assert call() == 39
    call[39] = 5
    assert call() == 5


def test_values_that_a_framework_moves_stay_valid(kernels):
    """Regression: a prepared call passed freed memory after `tensor.data = other`."""
    torch = pytest.importorskip("torch")
    tensor = torch.arange(4.0)
    address = tensor.data_ptr()
    call = kernels.echo.prepare(tensor)
    tensor.data = torch.zeros(4)
    assert call().data_ptr() == address
    assert call().tolist() == [0, 1, 2, 3]


def test_the_function_may_keep_an_argument(kernels):
    call = kernels.echo.prepare(np.zeros(3))
    kept = call(), call()
    call[0] = np.ones(3)
    gc.collect()
    assert [np.from_dlpack(tensor).tolist() for tensor in kept] == [[0, 0, 0], [0, 0, 0]]
    assert np.from_dlpack(call()).tolist() == [1, 1, 1]


def test_moved_objects_cannot_be_prepared(kernels):
    array = tvm_ffi.Array([1])
    with pytest.raises(TypeError, match="cannot move an object into the function"):
        kernels.echo.prepare(array._move())
    call = kernels.softmax.prepare(array, 1)
    with pytest.raises(TypeError, match="cannot move an object into the function"):
        call(x=array._move())
    with pytest.raises(TypeError, match="cannot move an object into the function"):
        call.x = array._move()
    assert list(call()[0]) == [1]


def test_copies_are_independent(kernels):
    call = kernels.softmax.prepare(1, 2)
    other = copy.copy(call)
    other.x = 5
    assert (list(call()), list(other())) == ([1, 2, 1.0], [5, 2, 1.0])
    with pytest.raises(TypeError, match="a prepared call cannot be pickled"):
        pickle.dumps(call)
    with pytest.raises(TypeError, match="a prepared call cannot be pickled"):
        copy.deepcopy(call)


def test_a_call_that_runs_itself_fails():
    calls = []

    def again(value):
        return calls[0]() if value else 7

    function = tvm_ffi.convert(again)
    calls.append(function.prepare(1))
    with pytest.raises(RuntimeError, match="the prepared call is running"):
        calls[0]()
    calls[0][0] = 0
    assert calls[0]() == 7


def test_a_call_that_changes_itself_fails():
    def change(value):
        call[0] = value + 1

    call = tvm_ffi.convert(change).prepare(1)
    with pytest.raises(RuntimeError, match="the prepared call is running"):
        call()
    assert call[0] == 1


def test_a_call_that_runs_on_another_thread_fails():
    entered, leave = threading.Event(), threading.Event()

    def wait():
        entered.set()
        leave.wait(60)

    call = tvm_ffi.convert(wait).prepare()
    thread = threading.Thread(target=call)
    thread.start()
    assert entered.wait(60)
    with pytest.raises(RuntimeError, match="on another thread"):
        call()
    other = copy.copy(call)
    leave.set()
    other()
    thread.join()
    call()


# ---- Signatures ----------------------------------------------------------------------------------

_SOURCE = """
#include <tvm/ffi/c_api.h>
TVM_FFI_DLL_EXPORT int __tvm_ffi_add_to(
    void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* r) {
  (void)self, (void)n, (void)r;
  DLTensor* x = TVMFFITensorGetDLTensorPtr(args[0].v_obj);
  DLTensor* y = TVMFFITensorGetDLTensorPtr(args[1].v_obj);
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    ((double*)y->data)[i] = ((double*)x->data)[i] + args[2].v_float64;
  }
  return 0;
}
"""
_SIGNATURE = "add_to(x: float64[n] compact, y: out float64[n] compact, a: float = 1.0)"


_KERNEL = """
#include <stdint.h>
void add(const double* x, double* y, double a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] + a;
}
"""
_WRAPPER = codegen.make_wrapper(_SIGNATURE, "add", arguments=["x", "y", "a", "n"])
_WRAPPED_SOURCES = [codegen.c.source_of([_WRAPPER]), _KERNEL]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield (
            cpp.build_inline("described", c_sources=_SOURCE),
            cpp.build_inline("wrapped", c_sources=_WRAPPED_SOURCES),
        )


def load_described(paths):
    """Return a function that relies on the checks of its callers."""
    module = tvm_ffi.load_module(paths[0])
    module.describe({"add_to": _SIGNATURE})
    return module.add_to


def load_wrapped(paths):
    """Return a function that checks its arguments itself."""
    return tvm_ffi.load_module(paths[1]).add_to


@pytest.mark.parametrize("load", [load_described, load_wrapped])
def test_arguments_are_checked_against_the_signature(paths, load):
    function = load(paths)
    x, y = np.arange(3.0), np.zeros(3)
    for wrong, error, message in [
        ((np.arange(3), y), ValueError, "expected dtype float64, got int64"),
        ((x, np.zeros(4)), ValueError, "shape"),
        ((x, x), ValueError, "memory"),
        ((x, y, "text"), TypeError, "float"),
    ]:
        with pytest.raises(error, match=message):
            function.prepare(*wrong)
    call = function.prepare(x, y)
    call()
    assert y.tolist() == [1, 2, 3]
    call(a=2)
    assert y.tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="memory"):
        call(y=x)
    with pytest.raises(ValueError, match="memory"):
        call.y = x
    with pytest.raises(ValueError, match="memory"):
        call.update(y=x.ctypes.data)
    call(a=np.float32(0.5))
    assert y.tolist() == [0.5, 1.5, 2.5]
    call(a=np.int64(4))
    assert y.tolist() == [4, 5, 6]
    call.a = np.int64(5)
    call()
    assert y.tolist() == [5, 6, 7]


def test_unchecked_functions_compare_facts_only(paths):
    x = np.arange(3.0)
    call = tvm_ffi.unchecked(load_described(paths)).prepare(x, np.zeros(3))
    call(y=x)
    assert x.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="as prepared"):
        call(y=np.zeros(4))


def test_read_only_arrays_are_refused_for_outputs(paths):
    x, y = np.arange(3.0), np.zeros(3)
    x.flags.writeable = False
    call = load_described(paths).prepare(x, y)
    with pytest.raises(BufferError, match="the array is read-only"):
        call(y=x)
    with pytest.raises(BufferError, match="the array is read-only"):
        call.y = x
    call()
    assert y.tolist() == [1, 2, 3]
