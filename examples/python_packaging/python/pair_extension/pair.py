# SPDX-License-Identifier: Apache-2.0
"""The Python side of the C++ class IntPair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tvm_ffi

from . import _library  # noqa: F401  (registers the type)


@tvm_ffi.register_object("pair_extension.IntPair")
class IntPair(tvm_ffi.Object):
    """Two integers with a name; fields and methods are those of the C++ class."""

    if TYPE_CHECKING:  # which cannot see what the library registers
        a: int
        b: int
        name: str

        def __init__(self, a: int, b: int) -> None: ...

        def sum(self) -> int:
            """Return a + b."""

        def swap(self) -> None:
            """Exchange both."""

    def __repr__(self) -> str:
        return f"IntPair({self.a}, {self.b}, name={self.name!r})"
