# SPDX-License-Identifier: Apache-2.0
"""Tensors that a callback borrows until it returns (`ScopedTensor`)."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi._binding.object import live_object_count
from tvm_ffi._binding.types import type_index_of
from tvm_ffi.dataclasses import py_class


def vector(*values):
    return tvm_ffi.from_dlpack(np.array(values, np.float32))


def test_a_borrowed_tensor_can_be_read_during_the_call(kernels):
    seen = []

    def look(tensor):
        seen.append((tensor.shape, tensor.strides, str(tensor.dtype), str(tensor.device)))
        seen.append((tensor.data_ptr(), tensor.__chandle__(), kernels.count(tensor)))

    x = vector(1, 2, 3)
    kernels.call_with_borrowed(look, x)
    assert seen == [((3,), (1,), "float32", "cpu:0"), (x.data_ptr(), 0, 1)]


def test_a_borrowed_tensor_can_be_passed_on_during_the_call(kernels):
    x, y = vector(1, 2, 3), vector(0, 0, 0)
    kernels.call_with_borrowed(lambda borrowed: kernels.add_one(borrowed, y), x)
    assert y.numpy().tolist() == [2, 3, 4]


def with_torch(tensor):
    return pytest.importorskip("torch").from_dlpack(tensor)


# Views of a borrowed tensor that other libraries create.
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
def test_other_libraries_read_and_write_a_borrowed_tensor_during_the_call(kernels, name):
    def double(tensor):
        array = VIEWS[name](tensor)
        assert array[2] == 3
        array *= 2

    x = vector(1, 2, 3)
    kernels.call_with_borrowed(double, x)
    assert x.numpy().tolist() == [2, 4, 6]
    assert kernels.count() == 0


def test_borrowed_tensors_without_strides_or_elements_convert_to_numpy(kernels):
    shapes = []
    for shape in [(2, 0, 3), (), (2, 3)]:
        kernels.call_with_borrowed(
            lambda t: shapes.append(t.numpy().shape), np.zeros(shape, np.int32)
        )
    assert shapes == [(2, 0, 3), (), (2, 3)]


def test_from_dlpack_of_a_borrowed_tensor_can_be_passed_on(kernels):
    x = vector(1, 2, 3)
    seen = []
    kernels.call_with_borrowed(lambda t: seen.append(kernels.count(tvm_ffi.from_dlpack(t))), x)
    assert seen == [1]


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("is_returned", [False, True], ids=["kept", "returned"])
def test_a_view_of_a_borrowed_tensor_that_outlives_the_call_is_an_error(kernels, view, is_returned):
    kept = []

    def keep(tensor):
        seen = view(tensor)
        if is_returned:
            return seen
        kept.append(seen)
        return None

    with pytest.raises(
        BufferError,
        match="the memory of argument #0 of the callback is borrowed .* outlives the call",
    ):
        kernels.call_with_borrowed(keep, vector(1, 2, 3))
    kernels.call_with_borrowed(lambda tensor: None, vector(1, 2, 3))


def test_a_view_of_a_borrowed_tensor_in_a_garbage_cycle_is_allowed(kernels):
    def make_cycle(tensor):
        cycle = [np.from_dlpack(tensor)]
        cycle.append(cycle)

    kernels.call_with_borrowed(make_cycle, vector(1, 2, 3))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes before 3.11")
def test_an_exception_of_a_callback_has_a_note_about_remaining_views(kernels):
    def fail(tensor):
        array = np.from_dlpack(tensor)
        raise KeyError(len(array))

    with pytest.raises(KeyError, match="3") as caught:
        kernels.call_with_borrowed(fail, vector(1, 2, 3))
    (note,) = caught.value.__notes__
    assert "the memory of argument #0 of the callback is borrowed for the call" in note


def test_an_exception_that_refuses_notes_is_raised_unchanged(kernels):
    """Regression: an exception in `add_note` replaced the original; arguments leaked."""

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
        kernels.call_with_borrowed(fail, np.zeros(3))
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
def test_a_borrowed_tensor_is_empty_after_the_call(kernels, use):
    kept = []
    kernels.call_with_borrowed(kept.append, vector(1, 2, 3))
    with pytest.raises(ValueError, match="Tensor is empty"):
        use(kept[0])


def test_a_borrowed_tensor_is_refused_as_argument_after_the_call(kernels):
    kept = []
    kernels.call_with_borrowed(kept.append, vector(1, 2, 3))
    with pytest.raises(ValueError, match=r"argument #0 when calling `count`: Tensor is empty"):
        kernels.count(kept[0])
    assert "None" in repr(kept[0])


def test_a_borrowed_tensor_is_empty_after_a_callback_that_raised(kernels):
    kept = []

    def fail(tensor):
        kept.append(tensor)
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        kernels.call_with_borrowed(fail, vector(1, 2, 3))
    with pytest.raises(ValueError, match="Tensor is empty"):
        kept[0].shape  # noqa: B018


def test_a_borrowed_tensor_cannot_be_returned(kernels):
    with pytest.raises(ValueError, match="borrowed for the call"):
        kernels.call_with_borrowed(lambda tensor: tensor, vector(1, 2, 3))


class _Convertible(core.ObjectConvertible):
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


# Operations that store a value for longer than the duration of a call.
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
    "stand-in": lambda t: tvm_ffi.List([]).append(_Convertible(t)),
    "stand-in in array": lambda t: tvm_ffi.Array([_Convertible(t)]),
    "readonly": lambda t: tvm_ffi.List([]).append(tvm_ffi.readonly(t)),
    "readonly in array": lambda t: tvm_ffi.Array([tvm_ffi.readonly(t)]),
    "any": core.CAny,
    "argument of a list": lambda t: tvm_ffi.convert_func(len)([t]),
}


@pytest.mark.parametrize("name", KEEPERS)
def test_a_borrowed_tensor_cannot_be_stored(kernels, name):
    """Regression: the DLTensor pointer was copied and dereferenced after the call."""
    refused = []

    def callback(tensor):
        with pytest.raises(
            BufferError, match="cannot store a tensor whose memory is borrowed until the call"
        ):
            KEEPERS[name](tensor)
        refused.append(True)

    kernels.call_with_borrowed(callback, np.zeros(3))
    assert refused == [True]
    KEEPERS[name](tvm_ffi.from_dlpack(np.zeros(3)))


def test_a_borrowed_tensor_can_be_compared_with_stored_values(kernels):
    answers = []

    def look(tensor):
        answers.append(tensor in tvm_ffi.List([1]))
        answers.append(tvm_ffi.Dict({1: 2}).get(tensor))
        answers.append(kernels.count(tvm_ffi.readonly(tensor), tensor))
        answers.append(kernels.data_address(tvm_ffi.readonly(tensor)).value == tensor.data_ptr())

    kernels.call_with_borrowed(look, np.zeros(3))
    assert answers == [False, None, 2, True]


def test_the_owner_of_a_borrowed_tensor_stays_usable(kernels):
    x = vector(1, 2, 3)
    kernels.call_with_borrowed(lambda _: None, x)
    assert x.numpy().tolist() == [1, 2, 3]
