# SPDX-License-Identifier: Apache-2.0
"""Wrappers that are emptied while somebody uses what they held; see docs/design/wrappers.md.

What is held is a Python object behind the native one, so that a weak reference tells whether it is
alive where freed memory would only be read.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
import re
import weakref

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi.core import CObject
from tvm_ffi.module import CustomModule


def empty(wrapper):
    """Let a wrapper hold nothing, and what it held die if nobody else has it."""
    CObject().__move_handle_from__(wrapper)


class Doing:
    """A value that runs a function when it is converted, whichever way it is asked."""

    def __init__(self, act, number=0):
        self.act = act
        self.number = number

    def __tvm_ffi_int__(self):
        self.act()
        return self.number

    __index__ = __tvm_ffi_int__

    def __bool__(self):
        self.act()
        return bool(self.number)


class Target:
    """A callable that can be watched."""

    def __call__(self, *args):
        return len(args)


def watched_function():
    """Return a function, and a weak reference to the callable that it alone keeps alive."""
    target = Target()
    return tvm_ffi.convert_func(target), weakref.ref(target)


def watched_tensor():
    array = np.arange(6.0)
    return tvm_ffi.from_dlpack(array), weakref.ref(array)


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


def test_function_emptied_by_its_own_argument_is_called_all_the_same():
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
def test_wrapper_emptied_and_filled_by_an_argument_keeps_what_the_call_has(kernels, watch):
    """What was put aside once went when the empty wrapper was filled during the same call."""
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


def test_function_filled_anew_by_its_own_argument_calls_what_it_was():
    function, _ = watched_function()
    other = tvm_ffi.convert_func(lambda *args: "other")
    assert function(Doing(lambda: function.__move_handle_from__(other)), 1) == 2
    assert function() == "other"


def test_value_behind_a_stand_in_stays_alive_when_it_is_emptied(kernels):
    array, target = watched_array()
    alive = []

    class StandIn(core.ObjectConvertible):
        def asobject(self):
            return array

    def act():
        empty(array)
        alive.append(target() is not None)

    assert kernels.count(StandIn(), Doing(act)) == 2
    assert alive == [True]


class ReturnsReadOnly(core.ObjectConvertible):
    """Stands for the promise to read a tensor."""

    def __init__(self, tensor):
        self.tensor = tensor

    def asobject(self):
        return tvm_ffi.readonly(self.tensor)


@pytest.mark.parametrize("wrap", [tvm_ffi.readonly, ReturnsReadOnly])
@pytest.mark.parametrize("build", ["call", "array", "map", "list as argument"])
def test_tensor_to_be_read_stays_alive_when_it_is_emptied(kernels, wrap, build):
    """What is passed in place of the argument was borrowed from a wrapper that no list names."""
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


def test_what_reading_promises_hold_is_released(kernels):
    tensor, owner = watched_tensor()
    for argument in (tvm_ffi.readonly(tensor), ReturnsReadOnly(tensor)):
        kernels.weighted_sum(argument)
        del argument
    empty(tensor)
    assert owner() is None


def test_argument_that_is_moved_first_stays_alive_for_the_second(kernels):
    """The list of what the call borrows began with the second, after the first was made ready."""
    array, target = watched_array()
    assert kernels.take_then_count_owners(array._move(), array) == 1
    assert array.__chandle__() == 0
    assert target() is not None  # put aside for the call
    array.__init__([1])
    empty(array)
    assert target() is None


def test_argument_behind_a_stand_in_that_is_moved_first_stays_alive(kernels):
    array, _ = watched_array()

    class Moves(core.ObjectConvertible):
        def asobject(self):
            return array._move()

    assert kernels.take_then_count_owners(Moves(), array) == 1


@pytest.mark.parametrize("others", [(), (1, "text", 2.5, None)])
def test_argument_that_is_moved_alone_is_the_only_reference(kernels, others):
    """The reference to be moved is no other user of the object."""
    array, target = watched_array()
    kernels.take(array._move(), *others)
    assert target() is None


def watched_array():
    """Return an array, which is nowhere else, and a weak reference to what it contains."""
    function, target = watched_function()
    return tvm_ffi.Array([function]), target


def test_what_a_call_kept_goes_when_the_wrapper_is_emptied_again(kernels):
    array, target = watched_array()
    kernels.count(array, Doing(lambda: empty(array)))
    assert target() is not None
    array.__init__([1])
    empty(array)
    assert target() is None


def test_object_that_is_not_in_use_is_moved_as_the_only_reference(kernels):
    array, target = watched_array()
    kernels.take(array._move())
    assert target() is None


def test_argument_moved_by_a_callback_stays_alive_for_the_callee(kernels):
    array, target = watched_array()
    alive = []

    def act():
        kernels.take(array._move())  # its result is dropped
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


def test_an_rvalue_reference_keeps_its_object():
    function, _ = watched_function()
    reference = core.ObjectRValueRef(function)
    reference.__init__(tvm_ffi.convert_func(len))  # which does nothing
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
def test_iterators_of_nothing_are_refused(make):
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


def test_no_wrapper_is_found_behind_a_numpy_array():
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


def test_content_for_a_pickle_keeps_the_memory_of_an_emptied_tensor():
    tensor, owner = watched_tensor()
    content = tensor.__reduce_ex__(5)[1][0]
    empty(tensor)
    assert owner() is not None
    assert np.frombuffer(content).tolist() == [0, 1, 2, 3, 4, 5]


def test_tensor_of_a_pickle_keeps_its_buffer_whatever_is_released():
    buffers = []
    data = pickle.dumps(tvm_ffi.from_dlpack(np.arange(64.0)), 5, buffer_callback=buffers.append)
    memory = np.frombuffer(bytearray(buffers[0]), np.uint8)
    content = memory.base if isinstance(memory.base, bytearray) else memory.base.obj
    del memory
    tensor = pickle.loads(data, buffers=[content])
    for view in gc.get_objects():
        if type(view) is memoryview:
            with contextlib.suppress(BufferError):  # somebody's whose memory is in use
                view.release()
    if tensor.data_ptr() == np.frombuffer(content, np.uint8).ctypes.data:  # not copied
        with pytest.raises(BufferError):
            content.clear()
    assert tensor.numpy().tolist() == list(range(64))


@pytest.mark.parametrize("name", ["copy", "max_version", "dl_device"])
def test_tensor_emptied_by_what_is_asked_for_is_a_value_error(name):
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


# ---- the garbage collector -----------------------------------------------------------------------


class Greeter(CustomModule, kind="test.python.wrappers"):
    """A module whose state refers to it."""

    def __init__(self):
        self.myself = self

    def find_function(self, name):
        return len


def test_what_a_module_refers_to_may_outlive_it():
    """A link once kept the address of a field of its owner, and each collection read it."""
    kept = gc.get_referents(Greeter())
    gc.collect()
    reused = [b"A" * size for size in range(8, 200, 8) for _ in range(300)]
    gc.collect()
    assert kept
    assert reused


def test_object_that_holds_another_module_does_not_speak_for_its_own():
    """Else the collector takes a state that is in use for one that nobody refers to."""
    one, other = Greeter(), Greeter()
    state = next(x for x in gc.get_referrers(one.__dict__) if type(x).__name__ == "_State")
    one.__move_handle_from__(other)
    del one, other
    gc.collect()
    assert isinstance(state.attributes, dict)


class Owner:
    """Keeps a function that leads back to it."""

    def act(self):
        return "alive"


@pytest.mark.parametrize("is_bound", [True, False])
def test_function_of_an_object_that_keeps_it_is_collected(is_bound):
    def make():
        owner = Owner()
        owner.f = tvm_ffi.convert_func(owner.act if is_bound else lambda: owner)
        return weakref.ref(owner)

    seen = make()
    gc.collect()
    assert seen() is None


def test_function_that_native_code_has_as_well_is_not_collected(kernels):
    owner = Owner()
    owner.f = tvm_ffi.convert_func(owner.act)
    kernels.keep(owner.f)
    del owner
    gc.collect()
    assert kernels.call_kept() == "alive"
    kernels.forget()
    gc.collect()


@pytest.mark.parametrize(
    ("wrapper", "make", "message"),
    [
        (
            lambda: tvm_ffi.Array([1]),
            lambda: tvm_ffi.Map({}),
            "Array stands for objects of type `ffi.Array`, got one of type `ffi.Map`",
        ),
        (
            lambda: tvm_ffi.convert_func(len),
            lambda: tvm_ffi.List([1]),
            "Function stands for objects of type `ffi.Function`, got one of type `ffi.List`",
        ),
        (
            lambda: tvm_ffi.from_dlpack(np.zeros(3)),
            lambda: tvm_ffi.convert_func(len),
            "Tensor stands for objects of type `ffi.Tensor`, got one of type `ffi.Function`",
        ),
    ],
)
def test_wrapper_refuses_an_object_of_another_type(wrapper, make, message):
    """Its memory was read as that of the wrapper's own type."""
    filled, other = wrapper(), make()
    address, other_address = filled.__chandle__(), other.__chandle__()
    for fill in (
        filled.__move_handle_from__,
        lambda value: filled.__init_handle_by_constructor__(lambda: value),
    ):
        with pytest.raises(TypeError, match=re.escape(message)):
            fill(other)
    assert (filled.__chandle__(), other.__chandle__()) == (address, other_address)


def test_wrapper_takes_objects_of_derived_types_and_any_where_it_stands_for_none():
    made = core.Object()
    made.__move_handle_from__(tvm_ffi.Array([1]))
    assert made.__chandle__() != 0
    anything = CObject()
    anything.__move_handle_from__(made)
    assert (made.__chandle__(), anything.__chandle__() != 0) == (0, True)
    array = tvm_ffi.Array([1])
    array.__move_handle_from__(anything)
    assert list(array) == [1]
