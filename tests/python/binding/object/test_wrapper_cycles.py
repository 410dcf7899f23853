# SPDX-License-Identifier: Apache-2.0
"""Reference cycles through wrappers: garbage collection, stored exceptions and fields."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any

import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core, dataclasses
from tvm_ffi.core import CObject
from tvm_ffi.module import CustomModule

from .watched_values import Last, Target, empty

NUMBERS = itertools.count()


# ---- the garbage collector -----------------------------------------------------------------------


class Greeter(CustomModule, kind="test.python.wrappers"):
    """A module whose state refers to the module."""

    def __init__(self):
        self.itself = self

    def find_function(self, name):
        return len


def test_referents_of_a_module_may_outlive_it():
    """A `ReferenceLink` kept the address of a field of its deleted owner and read it."""
    kept = gc.get_referents(Greeter())
    gc.collect()
    reused = [b"A" * size for size in range(8, 200, 8) for _ in range(300)]
    gc.collect()
    assert kept
    assert reused


def test_a_wrapper_with_another_module_does_not_report_the_state_of_the_first():
    """Otherwise the garbage collector would free a module state that is in use."""
    first, second = Greeter(), Greeter()
    state = next(x for x in gc.get_referrers(first.__dict__) if type(x).__name__ == "_State")
    first.__move_handle_from__(second)
    del first, second
    gc.collect()
    assert isinstance(state.attributes, dict)


class Owner:
    """An object that owns a function with a reference back to the object."""

    def act(self):
        return "alive"

    def fail(self):
        raise ValueError("failed")


@pytest.mark.parametrize("is_bound", [True, False])
def test_a_function_in_a_cycle_with_its_object_is_collected(is_bound):
    def make():
        owner = Owner()
        owner.f = tvm_ffi.convert_func(owner.act if is_bound else lambda: owner)
        return weakref.ref(owner)

    seen = make()
    gc.collect()
    assert seen() is None


def test_a_function_that_native_code_owns_is_not_collected(kernels):
    owner = Owner()
    owner.f = tvm_ffi.convert_func(owner.act)
    kernels.keep(owner.f)
    del owner
    gc.collect()
    assert kernels.call_kept() == "alive"
    kernels.forget()
    gc.collect()


# ---- exceptions and field values stored in a wrapper ---------------------------------------------


def test_a_moved_error_has_the_exception_of_its_new_object():
    """The old exception stayed in the wrapper and was written into an error without a slot."""
    error = core._convert_to_ffi_error(ValueError("mine"))
    error.__move_handle_from__(core.Error("TypeError", "other", ""))
    assert (error.kind, error.message) == ("TypeError", "other")
    assert isinstance(error.py_error(), TypeError)
    assert isinstance(tvm_ffi.Array([error])[0].py_error(), TypeError)


@pytest.mark.parametrize("move", [core.Error.__move_handle_from__, CObject.__move_handle_from__])
def test_moving_an_error_moves_its_exception(move):
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


def test_reinitializing_an_error_drops_its_exception():
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
def test_every_read_of_a_stored_error_returns_the_same_exception(hold, read):
    """The first wrapper took the exception from the native error and released it at its end."""
    original = ValueError("mine")
    kept = hold(original)
    assert all(read(kept).py_error() is original for _ in range(3))
    first, second = read(kept), read(kept)
    assert first.py_error() is original
    del first, second
    assert read(kept).py_error() is original


@pytest.mark.parametrize("assign", [lambda x: setattr(x, "first", 7), lambda x: x.__init__(5, 6)])
def test_a_released_field_value_may_empty_its_object(assign):
    """The fields were read at the address of the released object."""
    fields = Fields(1, 2)
    seen = []

    def act():
        seen.append(fields.__chandle__() != 0)
        empty(fields)

    fields.first = Last(act)
    assign(fields)
    assert seen == [True]


def test_a_garbage_collection_may_write_a_field_that_is_read():
    """The field was read before an allocation, which may start a collection that changes it."""
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


def test_the_garbage_collector_sees_only_the_values_of_fields():
    fields = Fields(Target())
    assert not [x for x in gc.get_objects() if type(x).__name__ == "_ReferenceLink"]
    assert any(isinstance(x, Target) for x in gc.get_referents(fields))


def test_an_object_emptied_through_cobject_is_no_longer_traversed():
    """Only the override updated the `ReferenceLink`, and `CObject` bypassed the override."""
    fields, other = Fields(tvm_ffi.convert_func(Target())), Fields(5)
    CObject.__move_handle_from__(fields, other)
    gc.collect()
    assert fields.first == 5
    CObject.__move_handle_from__(other, Fields(6))
    assert other.first == 6


@pytest.mark.parametrize("holders", [(5, "x"), [], (None,)])
def test_invalid_holders_of_a_class_are_refused(holders):
    class Derived(Fields):
        __ffi_holders__ = holders

    derived = Derived.__new__(Derived)
    derived.__move_handle_from__(Fields(1))
    with pytest.raises(TypeError):
        Fields.first.set(derived, len)


def test_fields_of_another_type_cannot_be_holders():
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
    for name, message in (
        ("c", "field `c`: expected an object of type"),
        ("number", "expected fields that can hold an object, got the field `number`"),
    ):
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
def test_an_object_in_a_cycle_through_its_field_is_collected(make):
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
    """A base class with an exchange API."""


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
    """Return an exception whose traceback refers to the owner."""
    try:
        owner.fail()
    except ValueError as error:
        return error


def passed(error):
    """Return an error after its exception was stored in the native error."""
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
def test_native_references_in_a_cycle_are_collected(hold):
    """Cycles such as `self.step = function.bind(self.method)` were never collected."""
    seen = hold()
    gc.collect()
    assert seen() is None


def test_an_object_with_another_native_owner_is_not_collected(kernels):
    seen = owner_of(lambda owner: [core.CAny(owner.act), kernels.keep(owner.act)])()
    gc.collect()
    assert seen() is not None
    kernels.forget()
    gc.collect()
