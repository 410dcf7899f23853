# SPDX-License-Identifier: Apache-2.0
"""The kernel in Python, compiled by Numba into an object file without Python."""

from __future__ import annotations

from tvm_ffi.interop.numba import kernel


@kernel("axpy_numba(a: float, x: float64*[n] on cpu, y: inout float64*[n] on cpu)")
def axpy(a, x, y):
    """Add a * x to y."""
    for i in range(x.shape[0]):
        y[i] += a * x[i]
