# SPDX-License-Identifier: Apache-2.0
"""Wrappers that are emptied while a call, container or array uses their objects."""

from __future__ import annotations

import contextlib
import gc
import pickle
import weakref

import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core
from tvm_ffi.core import CObject

from .watched_values import Doing, empty, watched_array, watched_function, watched_tensor

# ---- calls ---------------------------------------------------------------------------------------


def test_argument_emptied_while_later_ones_are_converted_stays_alive_for_the_callee(kernels):
    array, target = watched_array()
    alive = []

    def act():
        empty(array)
        alive.append(target() is not None)

    assert kernels.count(array, Doing(act)) == 2
    assert alive == [True]


def test_argument_emptied_before_it_is_converted_is_a_value_error(kernels):
    function, _ = watched_function()
    with pytest.raises(ValueError, match=r"argument #1 .* is empty"):
        kernels.count(Doing(lambda: empty(function)), function)


def test_argument_emptied_by_a_callback_stays_alive_for_the_callee(kernels):
    array, target = watched_array()
    alive = []

    def act():
        empty(array)
        alive.append(target() is not None)

    kernels.call_alone(act, array)
    assert alive == [True]


def test_a_function_emptied_by_its_argument_is_still_called():
    function, target = watched_function()
    alive = []

    def act():
        empty(function)
        alive.append(target() is not None)

    assert function(Doing(act), 1) == 2
    assert alive == [True]
    with pytest.raises(ValueError, match="Function is empty"):
        function()


@pytest.mark.parametrize("watch", ["array", "function"])
def test_a_wrapper_emptied_and_refilled_by_an_argument_keeps_the_callees_object(kernels, watch):
    """Regression: a wrapper that got another object during the call released the call's object."""
    wrapper, target = watched_array() if watch == "array" else watched_function()
    other = tvm_ffi.Array([1]) if watch == "array" else tvm_ffi.convert_func(len)
    alive = []

    def act():
        empty(wrapper)
        wrapper.__move_handle_from__(other)
        alive.append(target() is not None)

    call = kernels.count if watch == "array" else wrapper
    call(wrapper, Doing(act))
    assert alive == [True]


def test_a_function_replaced_by_its_argument_calls_the_old_function():
    function, _ = watched_function()
    other = tvm_ffi.convert_func(lambda *args: "other")
    assert function(Doing(lambda: function.__move_handle_from__(other)), 1) == 2
    assert function() == "other"


def test_the_result_of_asobject_stays_alive_when_it_is_emptied(kernels):
    array, target = watched_array()
    alive = []

    class Convertible(core.ObjectConvertible):
        def asobject(self):
            return array

    def act():
        empty(array)
        alive.append(target() is not None)

    assert kernels.count(Convertible(), Doing(act)) == 2
    assert alive == [True]


class ReturnsReadOnly(core.ObjectConvertible):
    """An object whose conversion returns a tensor that is promised to be read-only."""

    def __init__(self, tensor):
        self.tensor = tensor

    def asobject(self):
        return tvm_ffi.readonly(self.tensor)


@pytest.mark.parametrize("wrap", [tvm_ffi.readonly, ReturnsReadOnly])
@pytest.mark.parametrize("build", ["call", "array", "map", "list as argument"])
def test_a_readonly_tensor_stays_alive_when_it_is_emptied(kernels, wrap, build):
    """Regression: the call did not record the wrapper that owned a converted argument."""
    tensor, owner = watched_tensor()
    alive = []

    def act():
        empty(tensor)
        alive.append(owner() is not None)

    argument = wrap(tensor)
    if build == "call":
        kernels.weighted_sum(argument, Doing(act))
    elif build == "array":
        assert tvm_ffi.Array([argument, Doing(act)])[0].numpy().tolist() == [0, 1, 2, 3, 4, 5]
    elif build == "map":
        made = tvm_ffi.Map({1: argument, 2: Doing(act)})
        assert made[1].numpy().tolist() == [0, 1, 2, 3, 4, 5]
    else:
        kernels.call_alone(act, [argument])
    assert alive == [True]


def test_readonly_arguments_are_released(kernels):
    tensor, owner = watched_tensor()
    for argument in (tvm_ffi.readonly(tensor), ReturnsReadOnly(tensor)):
        kernels.weighted_sum(argument)
        del argument
    empty(tensor)
    assert owner() is None


def test_an_object_passed_moved_and_then_borrowed_stays_alive(kernels):
    """Regression: wrappers were recorded as borrowed only from the second argument on."""
    array, target = watched_array()
    assert kernels.take_then_count_owners(array._move(), array) == 1
    assert array.__chandle__() == 0
    assert target() is not None  # the wrapper stores the reference that the call borrows
    array.__init__([1])
    empty(array)
    assert target() is None


def test_an_object_moved_by_asobject_and_then_borrowed_stays_alive(kernels):
    array, _ = watched_array()

    class Moves(core.ObjectConvertible):
        def asobject(self):
            return array._move()

    assert kernels.take_then_count_owners(Moves(), array) == 1


@pytest.mark.parametrize("num_before", range(9))
def test_references_stored_by_a_garbage_collection_are_kept(kernels, num_before):
    """Regression: one wrapper got two entries, and the second one overwrote the first."""
    wrapper, _ = watched_array()
    other, target = watched_array()
    alive, turns = [], []

    def refill(phase, _):
        turns.append(phase)
        if len(turns) == 1:
            empty(wrapper)
            wrapper.__move_handle_from__(other)
            empty(wrapper)

    def act():
        holder = CObject()
        thresholds = gc.get_threshold()
        gc.collect()
        gc.set_threshold(9, 1000, 1000)
        gc.callbacks.append(refill)
        filling = [[] for _ in range(num_before)]
        try:
            holder.__move_handle_from__(wrapper)
        finally:
            gc.set_threshold(*thresholds)
            gc.callbacks.remove(refill)
        gc.collect()
        del filling  # the wrapper's allocations counted towards the threshold of the collection
        alive.append(target() is not None)

    kernels.count(wrapper, Doing(act))
    assert alive == [True]


@pytest.mark.parametrize("others", [(), (1, "text", 2.5, None)])
def test_a_moved_argument_is_the_only_reference(kernels, others):
    """The moved reference does not count as an additional owner of the object."""
    array, target = watched_array()
    kernels.take(array._move(), *others)
    assert target() is None


def test_the_references_of_a_call_are_released_when_the_wrapper_is_emptied_again(kernels):
    array, target = watched_array()
    kernels.count(array, Doing(lambda: empty(array)))
    assert target() is not None
    array.__init__([1])
    empty(array)
    assert target() is None


def test_an_unused_object_is_moved_as_the_only_reference(kernels):
    array, target = watched_array()
    kernels.take(array._move())
    assert target() is None


def test_argument_moved_by_a_callback_stays_alive_for_the_callee(kernels):
    array, target = watched_array()
    alive = []

    def act():
        kernels.take(array._move())  # the result of the call is released
        alive.append((array.__chandle__(), target() is not None))

    kernels.call_alone(act, array)
    assert alive == [(0, True)]


def test_item_emptied_while_a_container_is_built_stays_alive(kernels):
    function, target = watched_function()
    alive = []

    def act():
        empty(function)
        alive.append(target() is not None)

    array = tvm_ffi.Array([function, Doing(act, 7)])
    assert alive == [True]
    assert array[0](1, 2) == 2
    assert array[1] == 7


def test_an_rvalue_reference_cannot_be_reinitialized():
    function, _ = watched_function()
    reference = core.ObjectRValueRef(function)
    reference.__init__(tvm_ffi.convert_func(len))  # the call has no effect
    assert reference.obj is function


# ---- containers and fields -----------------------------------------------------------------------


@pytest.mark.parametrize("make", [tvm_ffi.Array, tvm_ffi.List])
def test_sequence_emptied_by_its_index_is_a_value_error(make):
    row = make([1, 2, 3])
    with pytest.raises(ValueError, match="is empty"):
        row[Doing(lambda: empty(row))]


@pytest.mark.parametrize("make", [tvm_ffi.Map, tvm_ffi.Dict])
@pytest.mark.parametrize("look_up", [lambda t, k: t[k], lambda t, k: k in t, lambda t, k: t.get(k)])
def test_mapping_emptied_by_its_key_is_a_value_error(make, look_up):
    table = make({1: 2})
    with pytest.raises(ValueError, match="is empty"):
        look_up(table, Doing(lambda: empty(table)))


@pytest.mark.parametrize("make", [tvm_ffi.Array, tvm_ffi.Map])
def test_iterators_over_none_are_refused(make):
    iterator = iter(make({} if make is tvm_ffi.Map else []))
    with pytest.raises(TypeError):
        type(iterator)(None, 0)
    with pytest.raises(TypeError):
        type(iterator)(None)


# ---- tensors -------------------------------------------------------------------------------------


def test_numpy_array_keeps_the_memory_of_an_emptied_tensor():
    tensor, owner = watched_tensor()
    array = tensor.numpy()
    empty(tensor)
    assert owner() is not None
    assert array.tolist() == [0, 1, 2, 3, 4, 5]
    del array
    assert owner() is None


def test_a_numpy_array_keeps_the_memory_of_a_borrowed_tensor(kernels):
    """A collection replaces the tensor between the reads of its handle and its data address."""

    def look(turn):
        array = np.full(64, 7.0)
        alive, other = weakref.ref(array), tvm_ffi.from_dlpack(array)
        del array
        seen, drained, borrowed = [], [], []

        def act(phase, _):
            if phase == "stop":  # these allocations cause the next collection
                drained.extend([{} for _ in range(100)] + [(i,) for i in range(50)])
                return
            seen.append(phase)
            if len(seen) == turn:
                borrowed[0].__move_handle_from__(other)

        def use(tensor):
            borrowed.append(tensor)
            thresholds = gc.get_threshold()
            gc.collect()
            gc.callbacks.append(act)
            gc.set_threshold(1, 1000, 1000)
            try:
                shown = tensor.numpy()
            finally:
                gc.set_threshold(*thresholds)
                gc.callbacks.remove(act)
            empty(tensor)
            assert shown.size == 3 or alive() is not None

        kernels.call_with_borrowed(use, np.zeros(3))

    tvm_ffi.from_dlpack(np.zeros(1)).numpy()
    for turn in range(1, 12):
        look(turn)


def test_the_wrapper_is_not_reachable_from_a_numpy_array():
    tensor, owner = watched_tensor()
    array = tensor.numpy()
    del tensor
    found = [array.base, *gc.get_referents(array.base), *vars(type(array.base)).values()]
    for wrapper in found:
        if isinstance(wrapper, CObject):
            empty(wrapper)
    if isinstance(getattr(array.base, "tensor", None), CObject):
        empty(array.base.tensor)
    assert owner() is not None


def test_pickle_content_keeps_the_memory_of_an_emptied_tensor():
    tensor, owner = watched_tensor()
    content = tensor.__reduce_ex__(5)[1][0]
    empty(tensor)
    assert owner() is not None
    assert np.frombuffer(content).tolist() == [0, 1, 2, 3, 4, 5]


def test_an_unpickled_tensor_keeps_its_buffer():
    buffers = []
    data = pickle.dumps(tvm_ffi.from_dlpack(np.arange(64.0)), 5, buffer_callback=buffers.append)
    memory = np.frombuffer(bytearray(buffers[0]), np.uint8)
    content = memory.base if isinstance(memory.base, bytearray) else memory.base.obj
    del memory
    tensor = pickle.loads(data, buffers=[content])
    for view in gc.get_objects():
        if type(view) is memoryview:
            with contextlib.suppress(BufferError, ValueError):  # exported, or released already
                if view.obj is content:
                    view.release()
    if tensor.data_ptr() == np.frombuffer(content, np.uint8).ctypes.data:  # not copied
        with pytest.raises(BufferError):
            content.clear()
    assert tensor.numpy().tolist() == list(range(64))


@pytest.mark.parametrize("name", ["copy", "max_version", "dl_device"])
def test_a_tensor_emptied_by_an_export_argument_is_a_value_error(name):
    tensor, _ = watched_tensor()

    class Pair(tuple):
        def __iter__(self):
            empty(tensor)
            return super().__iter__()

        def __getitem__(self, i):
            empty(tensor)
            return super().__getitem__(i)

    value = Doing(lambda: empty(tensor)) if name == "copy" else Pair((1, 0))
    with pytest.raises(ValueError, match="Tensor is empty"):
        tensor.__dlpack__(**{name: value})
