# SPDX-License-Identifier: Apache-2.0
"""Functions and classes that spawned processes import by name."""

from __future__ import annotations

import os

import tvm_ffi


@tvm_ffi.register_global_func("test.elsewhere.add", override=True)
def add(x, y=10):
    """Add."""
    return x + y


def twice(x):
    """Double."""
    return 2 * x


@tvm_ffi.register_object("ffi.reflection.AccessStep")
class Step(tvm_ffi.Object):
    """A runtime type with an int field and a field of type Any; instances accept attributes."""

    __slots__ = ("__dict__",)


def make_step(kind, key):
    """Return a new object of the type above."""
    make = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")
    return make("ffi.reflection.AccessStep", "kind", kind, "key", key)


def call(function, *args):
    """Call a function that was received; return its result and the id of this process."""
    return function(*args), os.getpid()


def describe(values):
    """Return a text about the received values, the values, and the id of this process."""
    described = {
        "count": values["count"](1, 2, 3),
        "add": values["add"](1),
        "twice": values["twice"](21),
        "main": values["module"](1, 2),
        "tensor": values["tensor"].numpy().tolist(),
        "read-only": values["read-only"].readonly,
        "bfloat16": str(values["bfloat16"].dtype),
        "array": list(values["containers"]["array"]),
        "step": (type(values["step"]).__name__, values["step"].kind, list(values["step"].key)),
        "shape": values["shape"],
        "dtype": str(values["dtype"]),
        "device": str(values["device"]),
        "error": values["error"].message,
    }
    return described, values, os.getpid()
