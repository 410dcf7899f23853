# SPDX-License-Identifier: Apache-2.0
"""Boundary mode: every call collects garbage and replaces objects (TVM_FFI_TESTS_FORCED=1).

Code that keeps an address across user code, or that confuses a wrapper with its object, usually
works, because user code rarely changes anything at that moment.  In this mode, whenever a function
of a test is entered or left,

- garbage is collected, and
- each Array and Map in the local variables of the function and of its caller is replaced by an
  equal one and released.  These containers are immutable, so no test notices;

and `Tensor.numpy` empties the wrapper if the call owns the only reference to it.

Early releases become visible where freed memory is overwritten: with MALLOC_PERTURB_=165 or with a
sanitizer.  The package has no code for this mode.
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
    """Enter the mode in this thread, and in the threads that this thread starts afterwards."""
    sys.setprofile(_profile)
    threading.setprofile(_profile)


def leave() -> None:
    """Leave the mode in this thread."""
    sys.setprofile(None)
    threading.setprofile(None)


def _profile(frame: FrameType, event: str, argument: object) -> None:
    if event not in ("call", "return") or "/tests/" not in frame.f_code.co_filename:
        return
    if getattr(_state, "is_busy", False):
        return
    _state.is_busy = True
    try:
        # A full collection at every call would take too long. The binding calls these special
        # methods.
        gc.collect(2 if frame.f_code.co_name.startswith("__") else 0)
        move(frame.f_locals.values())
        if frame.f_back is not None and frame.f_back.f_code.co_flags & inspect.CO_OPTIMIZED:
            variables = frame.f_back.f_locals
            move(variables.values())
            if type(variables) is dict:  # before 3.13 a copy, which would keep deleted values
                variables.clear()
    finally:
        _state.is_busy = False


def move(values: Iterable[Any]) -> None:
    """Replace small immutable containers by equal ones; their wrappers stay the same."""
    for value in list(values):
        if type(value) not in (tvm_ffi.Array, tvm_ffi.Map) or not value.__chandle__():
            continue
        if len(value) <= MAX_ELEMENTS:
            elements = value if type(value) is tvm_ffi.Map else list(value)
            value.__move_handle_from__(type(value)(elements))


# ---- tensors that only a call refers to ----------------------------------------------------------


class _Counted:
    def count(self) -> int:
        return sys.getrefcount(self)


def take_lone_tensors() -> Callable[[], None]:
    """Let `Tensor.numpy` empty a wrapper without other owners; return a function to undo this."""
    held = _Counted()
    alone, otherwise = _Counted().count(), held.count()
    original = tvm_ffi.Tensor.numpy

    def numpy(self: tvm_ffi.Tensor) -> Any:
        """Return the array; its memory must not depend on the wrapper."""
        is_alone = sys.getrefcount(self) == alone != otherwise
        array = original(self)
        if is_alone:
            CObject.__new__(CObject).__move_handle_from__(self)
        return array

    numpy.__doc__ = original.__doc__
    _set_attribute(tvm_ffi.Tensor, "numpy", numpy)
    return lambda: _set_attribute(tvm_ffi.Tensor, "numpy", original)


def _set_attribute(cls: type, name: str, value: object) -> None:
    """Set an attribute of a compiled class, which `setattr` refuses."""
    gc.get_referents(cls.__dict__)[0][name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
