# SPDX-License-Identifier: Apache-2.0
"""Mojo kernel with a C calling convention; build.py generates its C wrapper."""

comptime Address = Pointer[Float64, MutUntrackedOrigin]


@export("axpy_in_mojo")
def axpy(a: Float64, x: Address, y: Address, n: Int64) abi("C"):
    for i in range(Int(n)):
        y[unsafe_offset=i] += a * x[unsafe_offset=i]
