# SPDX-License-Identifier: Apache-2.0
"""Triton kernel for two GPU architectures; build.py writes its launch plan as C source."""

from __future__ import annotations

import triton
import triton.language as tl

from tvm_ffi.interop.triton import to_plan


@triton.jit  # type: ignore[untyped-decorator]
def axpy_kernel(a, x, y, n, block: tl.constexpr):  # type: ignore[no-untyped-def]
    """Add a * x to y."""
    i = tl.program_id(0) * block + tl.arange(0, block)
    mask = i < n
    tl.store(y + i, a * tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


plan = to_plan(
    axpy_kernel,
    "axpy_triton(a: float, x: float64*[n] on cuda, y: inout float64*[n] on cuda)",
    constexprs={"block": 128},
    arguments={"a": "float64 a"},
    grid="cdiv(n, block)",
    target=["sm_80", "sm_90"],
)
