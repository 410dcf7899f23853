# SPDX-License-Identifier: Apache-2.0
"""Python kernel that Numba compiles to an object file; the object file does not need Python."""

from __future__ import annotations

from typing import Any

from tvm_ffi.interop.numba import kernel


@kernel("axpy_numba(a: float, x: float64*[n] on cpu, y: inout float64*[n] on cpu)")
def axpy(a: float, x: Any, y: Any) -> None:
    """Add a * x to y."""
    for i in range(x.shape[0]):
        y[i] += a * x[i]
