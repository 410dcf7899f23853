# SPDX-License-Identifier: Apache-2.0
"""A mode of the tests in which what may happen at a boundary does: TVM_FFI_TESTS_FORCED=1.

Who keeps an address across code of the user, or takes a wrapper for its object, is usually lucky,
since nothing changes just then.  In this mode, whenever a function of a test is entered or left,

- garbage is collected, and
- the Arrays and Maps in local variables of the function and its caller move: each wrapper gets an
  equal container in place of its own, which is released.  They are immutable: no test sees it;

and a tensor whose wrapper nobody has but the call of its method `numpy` is taken out of it.

What is freed too early shows where freed memory is overwritten: MALLOC_PERTURB_=165, or a
sanitizer.  The package knows nothing of this.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import sys
import threading
from collections.abc import Iterable
from types import FrameType
from typing import Any, Callable

import tvm_ffi
from tvm_ffi.core import CObject

MAX_ELEMENTS = 100
VARIABLE = "TVM_FFI_TESTS_FORCED"

_state = threading.local()


def enter() -> None:
    """Begin, for this thread and those that it starts from now on."""
    sys.setprofile(_profile)
    threading.setprofile(_profile)


def leave() -> None:
    """End."""
    sys.setprofile(None)
    threading.setprofile(None)


def _profile(frame: FrameType, event: str, argument: object) -> None:
    if event not in ("call", "return") or "/tests/" not in frame.f_code.co_filename:
        return
    if getattr(_state, "is_busy", False):
        return
    _state.is_busy = True
    try:
        # A full collection everywhere takes too long; special methods are what we call.
        gc.collect(2 if frame.f_code.co_name.startswith("__") else 0)
        move(frame.f_locals.values())
        if frame.f_back is not None and frame.f_back.f_code.co_flags & inspect.CO_OPTIMIZED:
            variables = frame.f_back.f_locals
            move(variables.values())
            if type(variables) is dict:  # a copy, before 3.13: it would keep what is deleted
                variables.clear()
    finally:
        _state.is_busy = False


def move(values: Iterable[Any]) -> None:
    """Move what is immutable and not large; its wrappers stay where they are."""
    for value in list(values):
        if type(value) not in (tvm_ffi.Array, tvm_ffi.Map) or not value.__chandle__():
            continue
        if len(value) <= MAX_ELEMENTS:
            elements = value if type(value) is tvm_ffi.Map else list(value)
            value.__move_handle_from__(type(value)(elements))


# ---- tensors that only a call has ----------------------------------------------------------------


class _Counted:
    def count(self) -> int:
        return sys.getrefcount(self)


def take_lone_tensors() -> Callable[[], None]:
    """Let `Tensor.numpy` empty a wrapper that nobody else has; return a function that ends it."""
    held = _Counted()
    alone, otherwise = _Counted().count(), held.count()
    original = tvm_ffi.Tensor.numpy

    def numpy(self: tvm_ffi.Tensor) -> Any:
        """Return the array, which must not need the wrapper."""
        is_alone = sys.getrefcount(self) == alone != otherwise
        array = original(self)
        if is_alone:
            CObject.__new__(CObject).__move_handle_from__(self)
        return array

    numpy.__doc__ = original.__doc__
    _set_attribute(tvm_ffi.Tensor, "numpy", numpy)
    return lambda: _set_attribute(tvm_ffi.Tensor, "numpy", original)


def _set_attribute(cls: type, name: str, value: object) -> None:
    """Set an attribute of a compiled class, which Python refuses."""
    gc.get_referents(cls.__dict__)[0][name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
