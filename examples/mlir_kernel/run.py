# SPDX-License-Identifier: Apache-2.0
"""Call the compiled kernel in a process without MLIR:  ``python run.py LIBRARY.so``."""

from __future__ import annotations

import sys

import numpy as np

import tvm_ffi

module = tvm_ffi.load_module(sys.argv[1])
saxpy = module.saxpy
print(module.get_function_signature("saxpy"))
x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
saxpy(x, y, a=2)
print(f"y = {y.tolist()}")
for other in (np.ones(3, np.float32), x[::-1], x.astype(np.float64)):
    try:
        saxpy(x, other)
    except ValueError as error:
        print(f"ValueError: {error}")
