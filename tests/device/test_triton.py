# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel as a launch plan."""

from __future__ import annotations

import pytest

triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402


@triton.jit
def scale_f32(x, factor, y, n, BLOCK: tl.constexpr):  # noqa: N803
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, factor * tl.load(x + i, mask=i < n), mask=i < n)


def test_values(gpu):
    from tvm_ffi.interop.triton import to_module

    module = to_module(
        scale_f32,
        "scale_f32(x: float32[n], y: out float32[n], a: float = 2.0)",
        constexprs={"BLOCK": 8},
        arguments={"factor": "float32 a", "n": "n"},
        grid="cdiv(n, BLOCK)",
        target=gpu.architecture,
    )
    x, y = gpu.vector(), gpu.vector()
    module.scale_f32(x, y, a=3)
    assert gpu.values(y) == [3.0 * i for i in range(12)]
