# SPDX-License-Identifier: Apache-2.0
"""Global functions and fixtures for the tests of the JAX adapter.

They are not in conftest.py, because the programs in tests/frameworks run without it.
"""

from __future__ import annotations

import numpy as np
import pytest

import tvm_ffi

jax = pytest.importorskip("jax", exc_type=ImportError)


from tvm_ffi.interop import _function_names  # noqa: E402
from tvm_ffi.interop import jax as interop  # noqa: E402
from tvm_ffi.interop._xla import python_handler  # noqa: E402
from tvm_ffi.interop.jax import call_tvm_ffi  # noqa: E402

# Compiled programs report some failures as a plain ValueError.
Failure = (jax.errors.JaxRuntimeError, ValueError)
ORACLE = "tests.call_tvm_ffi.in_python"
jax.ffi.register_ffi_target(ORACLE, jax.ffi.pycapsule(python_handler.handler), platform="cpu")


def struct(shape, dtype=np.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def scaled(x, y, factor=2.0):
    np.multiply(x.numpy(), factor, out=y.numpy())


def repeated(x, y, factor=2.0):
    y.numpy()[:] = (x.numpy() * factor).repeat(2)


def increment(x):
    array = x.numpy()
    array += 1


def split(x):
    values = np.from_dlpack(x)
    return values[::2].copy(), values[1::2].copy()


def doubled(x, y, z):
    np.multiply(x.numpy(), 2, out=y.numpy())
    return np.asarray(x.numpy() + z.numpy()[0])


def fail(x, y):
    raise KeyError("no such row")


@pytest.fixture(scope="module", autouse=True)
def functions():
    register = tvm_ffi.register_global_func
    register("tests.jax.scaled", scaled)
    register(
        "tests.jax.repeated",
        repeated,
        signature="tests.jax.repeated(x: float32[n], y: out float32[2*n], *, factor: float = 2.0)",
    )
    register(
        "tests.jax.increment",
        increment,
        signature="tests.jax.increment(x: inout T[n]) where T in (int32, float32)",
    )
    register(
        "tests.jax.split",
        split,
        signature="tests.jax.split(x: T[n]) -> (T[cdiv(n, 2)], T[n // 2]) where T in (int32, int8)",
    )
    register(
        "tests.jax.doubled",
        doubled,
        signature="tests.jax.doubled(x: float32[*s], y: out float32[*s], z: float32[n, *s]) "
        "-> float32[*s]",
    )
    register("tests.jax.fail", fail)
    yield
    jax.clear_caches()
    for name in tvm_ffi.registry.list_global_func_names():
        prefixes = (_function_names.PRIVATE_PREFIX, _function_names.LIBRARY_PREFIX)
        if name.startswith(("tests.jax.", *prefixes)):
            tvm_ffi.remove_global_func(name)
    _function_names._generated_names.clear()


@pytest.fixture(name="handler", params=["native", "python"])
def handler_fixture(request, monkeypatch):
    """Run a test with the handler in C, then with the Python handler, which is the reference."""
    if request.param == "python":
        monkeypatch.setattr(interop, "TARGET", ORACLE)


def scale(x, **options):
    return call_tvm_ffi("tests.jax.scaled", x, out=struct(x.shape, x.dtype), **options)
