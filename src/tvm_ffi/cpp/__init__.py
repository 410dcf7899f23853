# SPDX-License-Identifier: Apache-2.0
"""From source text in C, C++ or CUDA to functions that can be called.

>>> from tvm_ffi import cpp
>>> module = cpp.load_inline(
...     "doc_add", cpp_sources="int add(int a, int b) { return a + b; }", functions="add"
... )  # doctest: +SKIP
>>> module.add(1, 2)  # doctest: +SKIP
3

`load_inline` and `build_inline` take text, `load` and `build` take files; the first of each pair
returns a module, the second the path of the library.  What was built once is found again by its
content (`tvm_ffi.cpp.cache`).  `tvm_ffi.cpp.nvrtc` compiles device code at run time.
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

# Not every program needs these modules.
__getattr__ = late_attributes(globals(), {"cache": ".cache", "nvrtc": ".nvrtc"})
