# SPDX-License-Identifier: Apache-2.0
"""Wrappers from a signature: from a function of C to one that everybody can call, with checks.

>>> from tvm_ffi import codegen
>>> source = codegen.c.wrapper("scale(x: float32*[n], y: out float32*[n], n: int32, a: float32)")

`wrap_library` does it for functions of a library that is there already.  `tvm_ffi.codegen.llvm`,
which is imported by its name, writes LLVM IR in place of C.
"""

from __future__ import annotations

from . import c
from ._library import wrap_library
from ._wrapper import Argument, Wrapper, make_wrapper

__all__ = ["Argument", "Wrapper", "c", "make_wrapper", "wrap_library"]
