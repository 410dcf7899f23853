# SPDX-License-Identifier: Apache-2.0
"""Call the compiled kernels in a process without the compiler:  ``python run.py LIBRARY.so``."""

from __future__ import annotations

import sys

import numpy as np

import tvm_ffi

kernels = tvm_ffi.load_module(sys.argv[1])
x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
kernels.axpy(x, y, a=10)
print(f"axpy: {y.tolist()}")
out = np.empty((2, 2))
kernels.relu(np.array([[-1.0, 2.0], [3.0, -4.0]]), out)
print(f"relu: {out.tolist()}")
kernels.clip(out[0], out[1], low=0.5, high=1.5)
print(f"clip: {out[1].tolist()}")
for args in ((x, y[:3]), (x, y.astype(np.float64)), (x, y[::-1]), (x,)):
    try:
        kernels.axpy(*args)
    except (TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}")
