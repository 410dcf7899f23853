# SPDX-License-Identifier: Apache-2.0
"""Call sequences (`tvm_ffi.run`, `tvm_ffi.Sequence`), which run several prepared calls."""

from __future__ import annotations

import gc
import traceback
import weakref

import numpy as np
import pytest

import tvm_ffi


def test_results_are_in_the_order_of_the_calls(kernels):
    calls = [kernels.echo.prepare(value) for value in (1, 2.5, "text", None, [1])]
    results = tvm_ffi.run(calls)
    assert results[:4] == [1, 2.5, "text", None]
    assert list(results[4]) == [1]
    assert tvm_ffi.run([]) == []
    assert tvm_ffi.run(iter(calls[:1])) == [1]


def test_results_of_torch_calls_are_torch_tensors(kernels):
    torch = pytest.importorskip("torch")
    calls = [kernels.echo.prepare(torch.ones(2)), kernels.echo.prepare(np.ones(2))]
    assert [type(result) for result in tvm_ffi.run(calls)] == [torch.Tensor, tvm_ffi.Tensor]


def test_a_sequence_runs_many_times(kernels):
    call = kernels.echo.prepare(1)
    sequence = tvm_ffi.Sequence([call, call, kernels.noop.prepare()])
    assert sequence() == [1, 1, None]
    call[0] = 2
    assert sequence() == tvm_ffi.run(sequence) == [2, 2, None]
    assert len(sequence) == 3
    assert sequence[0] is call
    assert repr(sequence) == "<sequence of 3 prepared calls>"


def test_other_objects_are_refused(kernels):
    with pytest.raises(TypeError, match="expected a PreparedCall at index 1, got Function"):
        tvm_ffi.run([kernels.noop.prepare(), kernels.noop])
    with pytest.raises(ValueError, match="PreparedCall is empty"):
        tvm_ffi.run([tvm_ffi.PreparedCall()])


class Released:
    """An object that native code passes on as an opaque object."""


def raise_at_two(value):
    if value == 2:
        raise ZeroDivisionError("at two")
    return value


@pytest.mark.parametrize("releases_gil", [True, False])
def test_the_first_error_stops_and_names_the_call(releases_gil):
    seen = []
    function = tvm_ffi.convert(lambda value: seen.append(value) or raise_at_two(value))
    function.release_gil = releases_gil
    calls = [function.prepare(value) for value in (1, 2, 3)]
    with pytest.raises(ZeroDivisionError, match="at two") as caught:
        tvm_ffi.run(calls)
    assert seen == [1, 2]
    text = "".join(traceback.format_exception(None, caught.value, caught.value.__traceback__))
    assert "raise_at_two" in text
    assert caught.value.__notes__ == [f"in call 1 of 3: {calls[1]!r}"]
    calls[1][0] = 5
    assert tvm_ffi.run(calls) == [1, 5, 3]


def test_earlier_results_are_released_after_an_error(kernels):
    released = weakref.ref(value := Released())
    calls = [kernels.echo.prepare(value), tvm_ffi.convert(raise_at_two).prepare(2)]
    del value
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            tvm_ffi.run(calls)
    del calls
    gc.collect()
    assert released() is None


def test_functions_that_keep_the_gil_run_in_order():
    """A run keeps the order of its calls when only some functions release the GIL."""
    order = []
    calls = []
    for value, releases_gil in enumerate([True, False, False, True, True]):
        function = tvm_ffi.convert(order.append)
        function.release_gil = releases_gil
        calls.append(function.prepare(value))
    assert tvm_ffi.run(calls) == [None] * 5
    assert order == [0, 1, 2, 3, 4]


def test_a_run_inside_itself_fails():
    calls = []
    calls.append(tvm_ffi.convert(lambda: tvm_ffi.run(calls)).prepare())
    with pytest.raises(RuntimeError, match="the prepared call is running") as caught:
        tvm_ffi.run(calls)
    assert len(caught.value.__notes__) == 1  # both runs give the same note
