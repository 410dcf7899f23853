# SPDX-License-Identifier: Apache-2.0
"""Inline builds: compile C, C++ or CUDA source text and load the functions that it exports.

>>> from tvm_ffi import cpp
>>> module = cpp.load_inline(
...     "doc_add", cpp_sources="int add(int a, int b) { return a + b; }", functions="add"
... )  # doctest: +SKIP
>>> module.add(1, 2)  # doctest: +SKIP
3

`load_inline` and `build_inline` take source text, `load` and `build` take source files.  The
``load`` functions return a module, the ``build`` functions the path of the library.  A library
whose inputs are unchanged is taken from the build cache (`tvm_ffi.cpp.cache`).
`tvm_ffi.cpp.nvrtc` compiles device code at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._internal.lazy import late_attributes
from . import dtype, extension
from .dtype import to_cpp_dtype
from .extension import build, build_inline, load, load_inline

if TYPE_CHECKING:
    from . import cache, nvrtc

__all__ = [
    "build",
    "build_inline",
    "cache",
    "dtype",
    "extension",
    "load",
    "load_inline",
    "nvrtc",
    "to_cpp_dtype",
]

# These modules are imported on first use, to keep the import of this package fast.
__getattr__ = late_attributes(globals(), {"cache": ".cache", "nvrtc": ".nvrtc"})
