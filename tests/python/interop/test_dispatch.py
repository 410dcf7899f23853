# SPDX-License-Identifier: Apache-2.0
"""Dispatches in torch and JAX: one operator, whose kernel chooses in each call."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import tvm_ffi

SIGNATURE = "twice(x: float32[n, d], y: out float32[n, d])"


@contextmanager
def registered(used):
    """Yield a registered dispatch whose two candidates append their names to `used`."""

    def candidate(name):
        def run(x, y):
            used.append(name)
            y.numpy()[:] = 2 * x.numpy()

        return run

    d = tvm_ffi.dispatch(SIGNATURE)
    d.add(candidate("of_4"), name="of_4", when="d % 4 == 0", priority=1)
    d.add(candidate("rest"), name="rest")
    tvm_ffi.register_global_func("dispatch_test.twice", d, override=True)
    try:
        yield d
    finally:
        tvm_ffi.remove_global_func("dispatch_test.twice")


def test_one_torch_operator(interop):
    import torch

    used = []
    with registered(used) as twice:
        operator = interop.register(twice, "dispatch_test::twice")

        @torch.compile(fullgraph=True, backend="aot_eager", dynamic=True)
        def model(x):
            y = torch.empty_like(x)
            operator(x, y)
            return y + 1

        assert model(torch.ones(3, 8)).tolist() == [[3.0] * 8] * 3
        assert model(torch.ones(3, 5)).tolist() == [[3.0] * 5] * 3
    assert used == ["of_4", "rest"]


def test_torch_operator_of_a_dispatch_without_a_global_name(interop):
    import torch

    d = tvm_ffi.dispatch(SIGNATURE)
    d.add(lambda x, y: y.numpy().fill(7), name="seven")
    operator = interop.register(d, "dispatch_test::seven")
    y = torch.zeros(1, 2)
    operator(torch.ones(1, 2), y)
    assert y.tolist() == [[7.0, 7.0]]


def test_one_jax_call():
    jax = pytest.importorskip("jax")
    from tvm_ffi.interop.jax import call_tvm_ffi

    used = []
    with registered(used) as twice:
        model = jax.jit(lambda x: call_tvm_ffi("dispatch_test.twice", x) + 1)
        assert np.asarray(model(np.ones((3, 8), np.float32))).tolist() == [[3.0] * 8] * 3
        assert np.asarray(model(np.ones((3, 5), np.float32))).tolist() == [[3.0] * 5] * 3
        direct = jax.jit(lambda x: call_tvm_ffi(twice, x))
        assert np.asarray(direct(np.ones((1, 1), np.float32))).tolist() == [[2.0]]
    assert used == ["of_4", "rest", "rest"]
    jax.clear_caches()  # compiled programs refer to the functions
