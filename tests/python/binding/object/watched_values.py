# SPDX-License-Identifier: Apache-2.0
"""Watched values: wrappers, each with a weak reference to the Python object that it keeps alive.

The weak reference shows if the native object is alive. Reading freed memory would not.
"""

from __future__ import annotations

import weakref

import numpy as np

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi.core import CObject


def empty(wrapper):
    """Empty a wrapper, which releases its native object."""
    CObject().__move_handle_from__(wrapper)


class Doing:
    """A value that calls a function when it is converted to int or bool."""

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
    """A callable that supports weak references."""

    def __call__(self, *args):
        return len(args)


def watched_function():
    """Return a function, and a weak reference to its callable, which only the function owns."""
    target = Target()
    return tvm_ffi.convert_func(target), weakref.ref(target)


def watched_tensor():
    array = np.arange(6.0)
    return tvm_ffi.from_dlpack(array), weakref.ref(array)


def watched_array():
    """Return an array, and a weak reference to the callable that is its only element."""
    function, target = watched_function()
    return tvm_ffi.Array([function]), target


class Last:
    """A value that calls a function when it is released."""

    def __init__(self, act):
        self.act = act

    def __del__(self):
        self.act()
