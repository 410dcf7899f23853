# SPDX-License-Identifier: Apache-2.0
"""Types that tests of `py_class` share, and a generator of unused type keys."""

import itertools

from tvm_ffi import Object
from tvm_ffi.dataclasses import field, py_class

_numbers = itertools.count()


def key(name="Type"):
    """Return a type key that no other test uses."""
    return f"test.py_class.{name}{next(_numbers)}"


@py_class("test.py_class.Leaf")
class Leaf(Object):
    """A type with one field."""

    v: int


# ---- Construction --------------------------------------------------------------------------------


@py_class("test.py_class.Three")
class Three(Object):
    """Fields with and without defaults."""

    a: int
    b: int = 2
    c: int = field(default_factory=lambda: 3, kw_only=True)


def class_of(body, bases=(Object,), name="Bad", **annotations):
    """Return a `py_class` with this body and these annotations."""
    return type(Object)(name, bases, {"__annotations__": annotations, **body})
