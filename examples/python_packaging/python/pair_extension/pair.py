# SPDX-License-Identifier: Apache-2.0
"""Python class for the C++ class IntPair; code between ``tvm-ffi-stubgen`` marks is generated."""

# tvm-ffi-stubgen(begin): import-section
# fmt: off
# isort: off
from __future__ import annotations
from typing import TYPE_CHECKING
# isort: on
# fmt: on
# tvm-ffi-stubgen(end)
import tvm_ffi

from . import _library  # noqa: F401  (registers the native type)


@tvm_ffi.register_object("pair_extension.IntPair")
class IntPair(tvm_ffi.Object):
    """Two integers with a name, with the fields and methods of the C++ class."""

    # tvm-ffi-stubgen(begin): object/pair_extension.IntPair
    # fmt: off
    a: int
    """The first integer."""
    b: int
    """The second integer."""
    name: str
    if TYPE_CHECKING:
        def __init__(self, a: int, b: int) -> None:
            """Make a pair of `a` and `b`."""
        def __ffi_init__(self, a: int, b: int) -> None: ...
        def sum(self, /) -> int:
            """Return a + b."""
        def swap(self, /) -> None:
            """Exchange both."""
    # fmt: on
    # tvm-ffi-stubgen(end)

    def __repr__(self) -> str:
        return f"IntPair({self.a}, {self.b}, name={self.name!r})"
