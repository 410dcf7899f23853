# SPDX-License-Identifier: Apache-2.0
"""Loading of the C++ library, which registers its types and global functions."""

# tvm-ffi-stubgen(begin): import-section
# fmt: off
# isort: off
from __future__ import annotations
from tvm_ffi import init_ffi_api as _FFI_INIT_FUNC
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from pair_extension import IntPair
# isort: on
# fmt: on
# tvm-ffi-stubgen(end)
from pathlib import Path

import tvm_ffi

LIBRARY = tvm_ffi.load_module(Path(__file__).parent / "pair_extension.so")

# tvm-ffi-stubgen(begin): global/pair_extension
# fmt: off
_FFI_INIT_FUNC("pair_extension", __name__)
if TYPE_CHECKING:
    def mirror(_0: IntPair, /) -> IntPair: ...
# fmt: on
# tvm-ffi-stubgen(end)
