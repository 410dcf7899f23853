# SPDX-License-Identifier: Apache-2.0
"""Garbage collection of `py_class` objects whose fields contain Python values."""

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any, Optional

import pytest

import tvm_ffi
from tvm_ffi import Object
from tvm_ffi.dataclasses import py_class

from .python_types import Three, key


class Token:
    """An object that supports weak references."""


@py_class("test.py_class.Listener")
class Listener(Object):
    """A type whose fields can contain Python objects."""

    callback: Optional[Callable[[], Any]]
    note: Any = None


def cycle_by_assignment(token):
    listener = Listener(None)
    listener.callback = lambda: (listener, token)


def cycle_by_construction(token):
    def call():
        return listener, token

    listener = Listener(call)


def cycle_by_opaque_value(token):
    listener = Listener(None)
    listener.note = token
    token.listener = listener


def cycle_in_a_copy(token):
    cell = []
    listener = copy.copy(Listener(lambda: (cell, token)))
    cell.append(listener)


@py_class("test.py_class.DerivedListener", init=False)
class DerivedListener(Listener):
    """A type with its own ``__init__``, which calls the ``__init__`` of its base."""

    number: int

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.number = 1


def cycle_by_init_of_a_base(token):
    """Regression: only assignments and automatic constructors linked the values."""
    cell = []
    cell.append(DerivedListener(lambda: (cell, token), note=token))


def no_cycle_after_assignment(token):
    listener = Listener(lambda: token)
    listener.callback = None


@pytest.mark.parametrize(
    "make",
    [
        cycle_by_assignment,
        cycle_by_construction,
        cycle_by_init_of_a_base,
        cycle_by_opaque_value,
        cycle_in_a_copy,
        no_cycle_after_assignment,
    ],
)
def test_the_collector_sees_python_values_in_fields(make):
    token = Token()
    end = weakref.ref(token)
    make(token)
    del token
    gc.collect()
    assert end() is None


def kept_natively(token):
    listener = Listener(None)
    listener.callback = lambda: (listener, token)
    return tvm_ffi.Array([listener]), listener.callback


def test_objects_owned_by_native_code_are_not_collected():
    token = Token()
    end = weakref.ref(token)
    array, function = kept_natively(token)
    del token
    gc.collect()
    assert array[0].callback()[1] is end()
    del array
    gc.collect()
    assert function()[1] is end()
    assert function()[0].callback()[1] is end()
    function()[0].callback = None  # the change is made through another wrapper of the same object
    del function
    gc.collect()
    assert end() is None


def test_refused_values_leave_no_reference_cycle():
    """Regression: a native error's exception kept stack frames alive that kept the error alive."""
    token = Token()
    end = weakref.ref(token)

    def refused(token):
        with pytest.raises(TypeError) as raised:
            Three("x")
        return raised

    refused(token)
    del token
    gc.collect()
    assert end() is None


def test_referents_of_an_object_may_outlive_it():
    @py_class(key())
    class Holder(tvm_ffi.Object):
        call: Callable

    holder = Holder(lambda: 3)
    kept = gc.get_referents(holder)
    assert kept
    del holder
    other = [Holder(lambda: 4) for _ in range(100)]  # at the address of the released object
    gc.collect()
    assert all(item.call() == 4 for item in other)
