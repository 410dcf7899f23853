# SPDX-License-Identifier: Apache-2.0
"""The Python side of the C++ class IntPair."""

import tvm_ffi

from . import _library  # noqa: F401  (registers the type)


@tvm_ffi.register_object("pair_extension.IntPair")
class IntPair(tvm_ffi.Object):
    """Two integers with a name; fields and methods are those of the C++ class."""

    def __repr__(self) -> str:
        return f"IntPair({self.a}, {self.b}, name={self.name!r})"
