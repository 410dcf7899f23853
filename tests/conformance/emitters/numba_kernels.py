# SPDX-License-Identifier: Apache-2.0
"""Export two kernels of Numba."""

from tvm_ffi.interop.numba import export_library, kernel


@kernel("scale(x: float64[n, m], y: out float64[n, m], a: float)")
def scale(x, y, a):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = a * x[i, j]


@kernel("at(x: float64[n], i: int) -> float")
def at(x, i):
    if i < 0 or i >= x.shape[0]:
        raise IndexError("index is out of bounds")
    return x[i]


export_library("emitted.so", [scale, at])
