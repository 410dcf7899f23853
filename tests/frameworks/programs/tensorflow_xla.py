# SPDX-License-Identifier: Apache-2.0
"""Functions in TensorFlow graphs that XLA compiles; use_tensorflow.py runs this program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_kernels import module

import tvm_ffi
from tvm_ffi.interop.tensorflow import call_tvm_ffi, register_operators

VALUES = {
    "none": None, "yes": True, "number": -3, "large": 2**62, "real": 0.1, "text": 'ä\0"\\b',
    "items": [1, [2.5, "x"]], "dtype": tvm_ffi.dtype("bfloat16"), "infinite": float("-inf"),
}  # fmt: skip


def compiled(function: Any) -> Any:
    """Compile a function with XLA."""
    return tf.function(function, jit_compile=True)


def check_graphs(x: Any) -> None:
    graph = compiled(lambda a: call_tvm_ffi(module.Scale, a + 1, factor=3.0) - 1)
    for a in (x, x[:1], tf.concat([x, x], 0)):
        assert graph(a).numpy().tolist() == (3 * (a.numpy() + 1) - 1).tolist()


def check_outputs(x: Any) -> None:
    assert compiled(lambda a, b: call_tvm_ffi(module.Concat, a, b))(x[0], x[1]).shape == (6,)
    assert compiled(lambda a: call_tvm_ffi(module.Increment, a))(x[0]).numpy().tolist() == [1, 2, 3]
    assert x[0].numpy().tolist() == [0.0, 1.0, 2.0]

    def split(a, low):
        np.from_dlpack(low)[:] = np.from_dlpack(a)[:1]
        return tvm_ffi.from_dlpack(np.from_dlpack(a)[1:].copy())

    tvm_ffi.register_global_func(
        "test.tensorflow.split", split,
        signature="(a: float32[n], low: out float32[1]) -> float32[n - 1]",
    )  # fmt: skip
    low, high = compiled(lambda a: call_tvm_ffi("test.tensorflow.split", a))(x[1])
    assert (low.numpy().tolist(), high.numpy().tolist()) == ([3.0], [4.0, 5.0])


def check_values(x: Any) -> None:
    got: list[Any] = []

    def note(a, y, *values):
        got.extend(values)
        np.from_dlpack(y)[...] = np.from_dlpack(a)

    assert bool(tf.reduce_all(compiled(lambda a: call_tvm_ffi(note, a, out=a, **VALUES))(x) == x))
    assert got[:6] == list(VALUES.values())[:6]
    assert [type(value) for value in got[1:5]] == [bool, int, int, float]
    assert list(got[6][1]) == [2.5, "x"]
    assert got[7:] == [tvm_ffi.dtype("bfloat16"), float("-inf")]


def check_errors(x: Any) -> None:
    graph = compiled(lambda a: call_tvm_ffi(module.Fail, a, "ValueError"))
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: no such luck"):
            graph(x[0])
    graph = compiled(lambda a, factor: call_tvm_ffi(module.Scale, a, factor=factor))
    message = "argument .*, got a number that the graph"
    with pytest.raises(tf.errors.UnimplementedError, match=message):
        graph(x, tf.constant(2.0))
    assert compiled(lambda a: call_tvm_ffi(module.Scale, a))(x).numpy()[1, 2] == 10


register_operators(xla=True)  # must be set before TensorFlow runs anything
numbers = tf.reshape(tf.range(6, dtype=tf.float32), (2, 3))
for check in (check_graphs, check_outputs, check_values, check_errors):
    check(numbers)
print("done")
