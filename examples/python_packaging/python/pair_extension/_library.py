# SPDX-License-Identifier: Apache-2.0
"""Loads the library: its types and functions are registered from here on."""

from pathlib import Path

import tvm_ffi

LIBRARY = tvm_ffi.load_module(Path(__file__).parent / "pair_extension.so")

mirror = tvm_ffi.get_global_func("pair_extension.mirror")
