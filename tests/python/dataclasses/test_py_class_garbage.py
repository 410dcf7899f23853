# SPDX-License-Identifier: Apache-2.0
"""Garbage collection of `py_class` objects whose fields hold Python values."""

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
    """A type whose fields can refer to Python objects."""

    callback: Optional[Callable[[], Any]]
    note: Any = None


def circle_by_assignment(token):
    listener = Listener(None)
    listener.callback = lambda: (listener, token)


def circle_by_construction(token):
    def call():
        return listener, token

    listener = Listener(call)


def circle_by_opaque_value(token):
    listener = Listener(None)
    listener.note = token
    token.listener = listener


def circle_in_a_copy(token):
    cell = []
    listener = copy.copy(Listener(lambda: (cell, token)))
    cell.append(listener)


def no_circle_any_more(token):
    listener = Listener(lambda: token)
    listener.callback = None


@pytest.mark.parametrize(
    "make",
    [
        circle_by_assignment,
        circle_by_construction,
        circle_by_opaque_value,
        circle_in_a_copy,
        no_circle_any_more,
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


def test_what_native_code_still_holds_is_not_garbage():
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
    function()[0].callback = None  # through another wrapper of the same object
    del function
    gc.collect()
    assert end() is None


def test_refused_values_leave_no_circle():
    """The exception of the native error kept frames that keep the error."""
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


def test_what_the_collector_is_told_may_outlive_the_object():
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
