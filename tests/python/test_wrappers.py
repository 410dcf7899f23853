# SPDX-License-Identifier: Apache-2.0
"""Wrappers that are emptied while somebody uses what they held; see docs/design/wrappers.md.

What is held is a Python object behind the native one, so that a weak reference tells whether it is
alive where freed memory would only be read.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import pickle
import re
import textwrap
import weakref
from typing import Any

import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core, dataclasses
from tvm_ffi._binding.call import ArgumentBinder, function_of_module, set_module_origin
from tvm_ffi._binding.object import note_of, set_note
from tvm_ffi.core import CObject
from tvm_ffi.module import CustomModule

NUMBERS = itertools.count()


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


@pytest.mark.parametrize("num_before", range(9))
def test_what_a_collection_puts_aside_stays_while_more_is_put_aside(kernels, num_before):
    """Two entries were made for one wrapper, and the second took the place of the first."""
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
        del filling  # until here it counted, so that the collection came when it was due
        alive.append(target() is not None)

    kernels.count(wrapper, Doing(act))
    assert alive == [True]


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


def test_numpy_array_keeps_the_memory_that_it_shows_of_a_lent_tensor(kernels):
    """A collection puts another tensor into the wrapper, between its handle and its address."""

    def look(turn):
        array = np.full(64, 7.0)
        alive, other = weakref.ref(array), tvm_ffi.from_dlpack(array)
        del array
        seen, drained, lent = [], [], []

        def act(phase, _):
            if phase == "stop":  # what is asked for next starts another one
                drained.extend([{} for _ in range(100)] + [(i,) for i in range(50)])
                return
            seen.append(phase)
            if len(seen) == turn:
                lent[0].__move_handle_from__(other)

        def use(tensor):
            lent.append(tensor)
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

        kernels.call_with_lent(use, np.zeros(3))

    tvm_ffi.from_dlpack(np.zeros(1)).numpy()
    for turn in range(1, 12):
        look(turn)


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

    def fail(self):
        raise ValueError("failed")


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


def test_wrapper_takes_objects_of_derived_types_and_any_where_nothing_reads_them():
    """`CObject` and `Object` read no memory, so they hold objects of any type.

    That was so of all classes that no type was registered for, `ArrayBase` and its kind among them,
    whose methods read what they were given as an array.
    """
    made = core.Object()
    made.__move_handle_from__(tvm_ffi.Array([1]))
    assert made.__chandle__() != 0
    anything = CObject()
    anything.__move_handle_from__(made)
    assert (made.__chandle__(), anything.__chandle__() != 0) == (0, True)
    array = tvm_ffi.Array([1])
    array.__move_handle_from__(anything)
    assert list(array) == [1]


# ---- classes whose methods read memory -----------------------------------------------------------

Pair = tvm_ffi.testing.TestIntPair
READERS = [tvm_ffi.Array, tvm_ffi.List, tvm_ffi.Map, tvm_ffi.Dict, tvm_ffi.Tensor]
READERS += [tvm_ffi.Function, core.Error, core.OpaquePyObject]


def compiled_base(cls):
    """Return the nearest compiled class that a class derives from."""
    return next(base for base in cls.__mro__ if not base.__flags__ & (1 << 9))


@pytest.mark.parametrize("cls", READERS)
def test_class_of_two_types_holds_no_object_of_one_of_them(cls):
    """The constructor of one type filled what the methods of the other one read."""

    class Both(Pair, cls):
        pass

    plain = cls is tvm_ffi.Tensor  # whose wrappers are laid out as those of objects
    both = (core.Object if plain else Both).__new__(Both)
    with pytest.raises(
        TypeError, match=r"Both stands for .*, got one of type `testing.TestIntPair`"
    ):
        Pair.__init__(both, 12345, 2)
    assert both.__chandle__() == 0


@pytest.mark.parametrize("cls", READERS)
def test_class_that_claims_another_type_holds_no_object_of_it(cls):
    class Claims(cls):
        __tvm_ffi_type_info__ = Pair.__tvm_ffi_type_info__

    claims = Claims.__new__(Claims)
    with pytest.raises(TypeError, match=r"Claims stands for .*, got one of type"):
        Pair.__init__(claims, 12345, 2)
    assert claims.__chandle__() == 0


@pytest.mark.parametrize("cls", READERS)
def test_base_that_stands_for_no_type_holds_what_its_methods_read(cls):
    base = compiled_base(cls)
    wrapper = base.__new__(base)
    with pytest.raises(TypeError, match=r"stands for objects of type .*, got one of type"):
        wrapper.__move_handle_from__(Pair(1, 2))
    assert wrapper.__chandle__() == 0


def test_base_of_arrays_and_lists_takes_both():
    base = compiled_base(tvm_ffi.Array).__mro__[1]
    wrapper = base.__new__(base)
    for made in (tvm_ffi.Array([1, 2]), tvm_ffi.List([3, 4, 5])):
        count = len(made)
        wrapper.__move_handle_from__(made)
        assert len(wrapper) == count
    message = "SequenceBase stands for objects of type `ffi.Array` or `ffi.List`, got one of"
    with pytest.raises(TypeError, match=message):
        wrapper.__move_handle_from__(tvm_ffi.Map({1: 2}))


@pytest.mark.parametrize("cls", READERS)
def test_wrapper_does_not_become_one_of_another_layout(cls):
    class Plain(tvm_ffi.Object):
        pass

    class Reader(cls):
        __slots__ = ()

    plain = Plain()
    plain.__move_handle_from__(Pair(1, 2))
    try:
        plain.__class__ = Reader
    except TypeError:
        return
    assert cls is tvm_ffi.Tensor  # wrappers of tensors have no field of their own
    for read in (
        lambda: plain.shape,
        plain.numpy,
        lambda: np.from_dlpack(plain),
        lambda: repr(plain),
        lambda: pickle.dumps(plain),
    ):
        with pytest.raises(TypeError, match="Reader holds no tensor but an object of type"):
            read()


def test_wrapper_filled_by_what_another_one_kept_is_checked_after_that(kernels):
    """Its type was looked at first, then a finalizer put something else into the other wrapper."""
    other = CObject()
    table = tvm_ffi.Map({1: 2})

    class Refills(Target):
        def __del__(self):
            other.__move_handle_from__(table)

    other.__move_handle_from__(tvm_ffi.Array([tvm_ffi.convert_func(Refills())]))

    def act():
        empty(other)
        other.__move_handle_from__(tvm_ffi.Array([1]))

    kernels.count(other, Doing(act))
    array = tvm_ffi.Array([7])
    with pytest.raises(TypeError, match=r"got one of type `ffi\.Map`"):
        array.__move_handle_from__(other)
    assert list(array) == [7]


def test_constructor_that_returns_an_object_of_another_type_is_refused():
    class Made(tvm_ffi.Array):
        pass

    made = Made([1])
    pair = Pair(1, 2)
    with pytest.raises(TypeError, match=r"Made stands for objects of type `ffi\.Array`"):
        made.__init_handle_by_constructor__(lambda: pair)
    assert (list(made), pair.a) == ([1], 1)


# ---- what a wrapper has beside its handle --------------------------------------------------------


def test_error_that_gets_another_object_carries_what_that_came_from():
    """The exception stayed, and was written into a native error that has no place for it."""
    error = core._convert_to_ffi_error(ValueError("mine"))
    error.__move_handle_from__(core.Error("TypeError", "other", ""))
    assert (error.kind, error.message) == ("TypeError", "other")
    assert isinstance(error.py_error(), TypeError)
    assert isinstance(tvm_ffi.Array([error])[0].py_error(), TypeError)


@pytest.mark.parametrize("move", [core.Error.__move_handle_from__, CObject.__move_handle_from__])
def test_exception_goes_along_with_its_error(move):
    original = ValueError("mine")
    first, second = core._convert_to_ffi_error(original), core.Error("TypeError", "other", "")
    move(second, first)
    assert second.py_error() is original
    with pytest.raises(ValueError, match="Error is empty"):
        first.py_error()
    holder = CObject()
    move(holder, second)
    move(first, holder)
    assert first.py_error() is original


def test_error_made_anew_forgets_its_exception():
    original = ValueError("mine")
    error = core._convert_to_ffi_error(original)
    error.__init__("TypeError", "other", "")
    assert isinstance(error.py_error(), TypeError)
    error = core._convert_to_ffi_error(original)
    error.__setstate__({"handle": None})
    with pytest.raises(ValueError, match="Error is empty"):
        error.py_error()


@dataclasses.py_class("test.wrappers.Fields")
class Fields(tvm_ffi.Object):
    first: Any
    second: Any = None


@pytest.mark.parametrize(
    ("hold", "read"),
    [
        pytest.param(lambda e: tvm_ffi.Array([e]), lambda kept: kept[0], id="array"),
        pytest.param(Fields, lambda kept: kept.first, id="field"),
    ],
)
def test_exception_is_found_in_a_kept_error_as_often_as_one_looks(hold, read):
    """The first wrapper took it out of the native error, and took it along when it died."""
    original = ValueError("mine")
    kept = hold(original)
    assert all(read(kept).py_error() is original for _ in range(3))
    first, second = read(kept), read(kept)
    assert first.py_error() is original
    del first, second
    assert read(kept).py_error() is original


class Last:
    """A value that does something when it is released."""

    def __init__(self, act):
        self.act = act

    def __del__(self):
        self.act()


@pytest.mark.parametrize("assign", [lambda x: setattr(x, "first", 7), lambda x: x.__init__(5, 6)])
def test_value_that_dies_empties_the_object_whose_field_it_was_in(assign):
    """The object's fields were looked at where they had been."""
    fields = Fields(1, 2)
    seen = []

    def act():
        seen.append(fields.__chandle__() != 0)
        empty(fields)

    fields.first = Last(act)
    assign(fields)
    assert seen == [True]


def test_collection_that_writes_a_field_while_it_is_looked_at():
    """The field's value was taken, then memory asked for, which may start a collection."""
    seen = []

    def act(phase, _):
        if phase == "start" and len(seen) + 1 == turns[0]:
            fields.first = 17
        seen.append(phase)

    turns = [0]
    gc.collect()
    thresholds = gc.get_threshold()
    gc.callbacks.append(act)
    try:
        for turn in range(1, 8, 2):
            fields = Fields(3)
            turns[0] = turn
            seen.clear()
            gc.set_threshold(1, 1000, 1000)
            fields.first = Target()
            gc.set_threshold(*thresholds)
            assert fields.first == 17 or callable(fields.first)
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(act)
    gc.collect()


def test_what_the_collector_shows_of_fields_is_the_values_alone():
    fields = Fields(Target())
    assert not [x for x in gc.get_objects() if type(x).__name__ in ("ReferenceLink", "_HeldValues")]
    assert any(isinstance(x, Target) for x in gc.get_referents(fields))


def test_object_emptied_by_way_of_the_base_class_is_not_looked_at_any_more():
    """The override alone told the link, and `CObject` went around it."""
    fields, other = Fields(tvm_ffi.convert_func(Target())), Fields(5)
    CObject.__move_handle_from__(fields, other)
    gc.collect()
    assert fields.first == 5
    CObject.__move_handle_from__(other, Fields(6))
    assert other.first == 6


@pytest.mark.parametrize("holders", [(5, "x"), [], (None,)])
def test_fields_that_a_class_names_are_checked(holders):
    class Derived(Fields):
        __ffi_holders__ = holders

    derived = Derived.__new__(Derived)
    derived.__move_handle_from__(Fields(1))
    with pytest.raises(TypeError):
        Fields.first.set(derived, len)


def test_fields_of_another_type_are_no_holders():
    @dataclasses.py_class("test.wrappers.Others")
    class Others(tvm_ffi.Object):
        number: int
        a: Any = None
        b: Any = None
        c: Any = None

    getters = {x.name: x.getter for x in Others.__tvm_ffi_type_info__.fields}

    class Derived(Fields):
        __ffi_holders__ = ()

    derived = Derived.__new__(Derived)
    derived.__move_handle_from__(Fields(1))
    for name, message in (("c", "field `c` belongs to"), ("number", "holds no objects")):
        Derived.__ffi_holders__ = (getters[name],)
        with pytest.raises(TypeError, match=message):
            Fields.first.set(derived, len)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: setattr(x, "first", x.act),
        lambda x: setattr(x, "first", lambda: x),
        lambda x: setattr(x, "first", Last(x.act)) or setattr(x, "second", x.act),
        lambda x: setattr(x, "first", raised_by(x)),
        lambda x: setattr(x, "first", raised_by(x)) or x.first.py_error(),
    ],
)
def test_object_whose_field_leads_back_to_it_is_collected(make):
    @dataclasses.py_class(f"test.wrappers.Acting{next(NUMBERS)}")
    class Acting(tvm_ffi.Object):
        first: Any
        second: Any = None

        def act(self):
            return self

        def fail(self):
            raise ValueError("failed")

    def hold():
        acting = Acting(None)
        make(acting)
        return weakref.ref(acting)

    seen = hold()
    gc.collect()
    assert seen() is None


# ---- cycles --------------------------------------------------------------------------------------


class TensorLike(core.DLTensorTestWrapper):
    """A class with an exchange table, from which the classes of a test derive."""


def tensor_class_that_keeps_a_function():
    class Keeps(TensorLike):
        pass

    Keeps.function = tvm_ffi.convert_func(len, tensor_cls=Keeps)
    return weakref.ref(Keeps)


def owner_of(make):
    def hold():
        owner = Owner()
        owner.kept = make(owner)
        return weakref.ref(owner)

    return hold


def raised_by(owner):
    """Return an exception, whose traceback leads to the owner."""
    try:
        owner.fail()
    except ValueError as error:
        return error


def passed(error):
    """Return an error whose exception the native error has as well."""
    tvm_ffi.convert_func(repr)(error)
    return error


def wrappers_of(exception):
    """Return two wrappers of one native error."""
    error = core._convert_to_ffi_error(exception)
    return error, tvm_ffi.Array([error])[0]


@pytest.mark.parametrize(
    "hold",
    [
        owner_of(lambda owner: tvm_ffi.convert_func(len).bind(owner.act)),
        owner_of(lambda owner: tvm_ffi.convert_func(len).bind(1, "x" * 99, owner)),
        owner_of(lambda owner: core.CAny(owner.act)),
        owner_of(core.CAny),
        owner_of(core._convert_to_opaque_object),
        tensor_class_that_keeps_a_function,
        owner_of(lambda owner: core.CAny(raised_by(owner))),
        owner_of(lambda owner: tvm_ffi.convert_func(len).bind(raised_by(owner))),
        owner_of(lambda owner: passed(core._convert_to_ffi_error(raised_by(owner)))),
        owner_of(lambda owner: [passed(x) for x in wrappers_of(raised_by(owner))]),
    ],
    ids=[
        "bound method",
        "bound object",
        "any method",
        "any object",
        "opaque",
        "tensor class",
        "any exception",
        "bound exception",
        "error that was passed",
        "error with two wrappers",
    ],
)
def test_what_native_code_owns_for_one_python_object_is_seen_by_the_collector(hold):
    """`self.step = function.bind(self.method)` and its kind were never collected."""
    seen = hold()
    gc.collect()
    assert seen() is None


def test_what_others_have_as_well_is_not_collected(kernels):
    seen = owner_of(lambda owner: [core.CAny(owner.act), kernels.keep(owner.act)])()
    gc.collect()
    assert seen() is not None
    kernels.forget()
    gc.collect()


# ---- what the package itself calls ---------------------------------------------------------------


def test_functions_that_the_collector_shows_are_none_that_the_package_relies_on(run_python):
    """All of them are emptied, and containers work as before."""
    program = """
        import gc
        import tvm_ffi
        from tvm_ffi.core import CObject, Function

        for function in [x for x in gc.get_objects() if isinstance(x, Function)]:
            CObject().__move_handle_from__(function)
        table = tvm_ffi.Map({1: (2, "three")})
        assert table[1][1] == "three" and 4 not in table
        assert tvm_ffi.Dict({1: 2}).get(1) == 2
        assert tvm_ffi.List([tvm_ffi.Shape((1, 2)), [None]])[0] == (1, 2)
    """
    result = run_python(textwrap.dedent(program))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "ask",
    [
        lambda: note_of(None),
        lambda: set_note(None, 1),
        lambda: set_module_origin(None, None, "", False),
        lambda: set_module_origin(tvm_ffi.convert_func(len), None, "", False),
        lambda: core.DLTensorTestWrapper.__new__(core.DLTensorTestWrapper).__dlpack__(),
        lambda: tvm_ffi.convert_func(len)(
            core.DLTensorTestWrapper.__new__(core.DLTensorTestWrapper)
        ),
    ],
)
def test_nothing_in_place_of_an_object_is_refused(ask):
    """The memory behind None was read."""
    with pytest.raises((TypeError, ValueError, AttributeError)):
        ask()


def test_value_that_comes_back_while_an_any_is_filled_is_released():
    """What had been put in meanwhile was overwritten, and never released."""
    seen = []

    def act():
        target = Target()
        seen.append(weakref.ref(target))
        value.__init__(target)

    value = core.CAny(Last(act))
    value.__init__(5)
    assert seen
    value.__init__(6)
    gc.collect()
    assert seen[0]() is None


def test_function_of_what_is_no_module_is_refused():
    """The object was passed on as a module, whatever it was."""
    with pytest.raises(TypeError):
        function_of_module(tvm_ffi.Array([1, 2]), "name", False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"defaults": ()}, "as many defaults"),
        ({"directions": b""}, "as many defaults"),
        ({"converters": (None, None)}, "as many defaults"),
        ({"num_positional": 2}, "by position"),
        ({"num_positional_only": -1}, "by position"),
        ({"num_positional_only": 1, "num_positional": 0}, "by position"),
        ({"names": (1,)}, "must be a str"),
    ],
)
def test_argument_binder_with_inconsistent_arguments_is_refused(changes, message):
    """Calls read its parts without a look at their lengths."""
    parts = {
        "signature": None, "names": ("x",), "defaults": (1,), "converters": (None,),
        "directions": b"\0", "num_positional_only": 0, "num_positional": 1, "is_variadic": False,
    }  # fmt: skip
    ArgumentBinder(*parts.values())
    with pytest.raises((TypeError, ValueError), match=message):
        ArgumentBinder(*{**parts, **changes}.values())
