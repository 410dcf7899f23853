# SPDX-License-Identifier: Apache-2.0
"""Bound calls (`Function.bind`), whose arguments are packed once."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tvm_ffi


def test_bound_arguments_reach_the_function(kernels):
    assert list(kernels.softmax.bind(1, y=2)()) == [1, 2, 1.0]
    assert list(kernels.softmax.bind(1, 2, temperature=3)()) == [1, 2, 3.0]
    assert kernels.last.bind(1, "a text that is long enough")() == "a text that is long enough"
    assert kernels.noop.bind()() is None


def test_each_call_returns_a_new_result(kernels):
    bound = kernels.softmax.bind([1], "a")
    first, second = bound(), bound()
    assert list(first[0]) == list(second[0]) == [1]
    assert not first.same_as(second)


def test_buffers_are_shared(kernels):
    array = np.zeros(3)
    bound = kernels.echo.bind(array)
    array[:] = 5
    assert np.from_dlpack(bound()).tolist() == [5, 5, 5]
    assert bound().data_ptr() == array.ctypes.data


def test_torch_results_are_torch_tensors(kernels):
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(3)
    bound = kernels.echo.bind(tensor)
    tensor += 1
    assert torch.equal(bound(), torch.ones(3))
    assert type(bound()) is torch.Tensor


def test_arguments_live_as_long_as_the_call(kernels):
    class Array(np.ndarray):
        pass

    array = np.zeros(3).view(Array)
    alive = weakref.ref(array)
    bound = kernels.echo.bind(array)
    del array
    gc.collect()
    assert bound().shape == (3,)
    del bound
    gc.collect()
    assert alive() is None


def test_binding_raises_the_errors_of_a_call(kernels):
    with pytest.raises(
        TypeError, match="softmax\\(\\) missing 1 required positional argument: 'y'"
    ):
        kernels.softmax.bind(1)
    with pytest.raises(TypeError, match="argument 'x' when calling `softmax`"):
        kernels.softmax.bind(np.array(["text"]), 1)
    message = r"^echo\(\) got an unexpected keyword argument 'x': the function has no signature"
    with pytest.raises(TypeError, match=message):
        kernels.echo.bind(x=1)
    with pytest.raises(BufferError, match="it is unknown whether"):
        kernels.echo.bind(np.broadcast_to(1.0, (3,)))
    with pytest.raises(TypeError, match="a bound call takes no arguments"):
        kernels.echo.bind(1)(2)


def test_errors_of_the_function_are_raised(kernels):
    with pytest.raises(ZeroDivisionError):
        tvm_ffi.convert(lambda value: 1 // value).bind(0)()
    with pytest.raises(TypeError, match="expected a tensor"):
        kernels.call_with_borrowed.bind(len, 5)()


def test_a_python_callable_is_called_each_time(kernels):
    seen = []
    bound = tvm_ffi.convert(seen.append).bind(5)
    bound()
    bound()
    assert seen == [5, 5]


def test_borrowed_tensors_cannot_be_bound(kernels):
    refused = []

    def callback(borrowed):
        try:
            kernels.echo.bind(borrowed)
        except BufferError as error:
            refused.append(str(error))

    kernels.call_with_borrowed(callback, np.zeros(3))
    assert refused
    assert "cannot store a tensor whose memory is borrowed until the call returns" in refused[0]


def test_calling_an_unbound_call_raises():
    bound = type(tvm_ffi.convert(len).bind([]))()
    with pytest.raises(ValueError, match="BoundCall is empty"):
        bound()


def test_calling_a_bound_call_of_a_moved_function_raises(kernels):
    function = kernels.get_function("echo")
    bound = function.bind(1)
    other = tvm_ffi.Function.__new__(tvm_ffi.Function)
    other.__move_handle_from__(function)
    with pytest.raises(ValueError, match="Function is empty"):
        bound()
