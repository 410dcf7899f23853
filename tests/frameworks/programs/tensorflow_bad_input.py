# SPDX-License-Identifier: Apache-2.0
"""Errors for invalid use of TensorFlow functions; the next valid call works."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_kernels import module

import tvm_ffi
from tvm_ffi.interop._tensorflow.library import operators
from tvm_ffi.interop.tensorflow import call_tvm_ffi

x = tf.reshape(tf.range(6, dtype=tf.float32), (2, 3))
DOUBLED = [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
NO_VALUES = tvm_ffi.serialization.to_json_graph_str([])


def check_errors() -> None:
    v = x[0]
    kinds = {
        "ValueError": tf.errors.InvalidArgumentError,
        "TypeError": tf.errors.InvalidArgumentError,
        "KeyError": tf.errors.NotFoundError,
        "IndexError": tf.errors.OutOfRangeError,
        "MemoryError": tf.errors.ResourceExhaustedError,
        "NotImplementedError": tf.errors.UnimplementedError,
        "PermissionError": tf.errors.PermissionDeniedError,
        "RuntimeError": tf.errors.InternalError,
        "OwnError": tf.errors.InternalError,
    }
    graph = tf.function(lambda a, kind: call_tvm_ffi(module.Fail, a, kind))
    for kind, error in kinds.items():
        for call in (lambda a, kind: call_tvm_ffi(module.Fail, a, kind), graph):
            with pytest.raises(error, match=f"{kind}: no such luck"):
                call(v, kind)
    assert call_tvm_ffi(module.Scale, x).numpy().tolist() == DOUBLED
    with pytest.raises(ValueError, match="argument 'x' must have dtype float32, got float64"):
        call_tvm_ffi(module.Scale, tf.cast(x, tf.float64))
    with pytest.raises(ValueError, match="argument 'x' must have 2 dimensions, got 1"):
        call_tvm_ffi(module.Scale, v)
    with pytest.raises(TypeError, match="Scale.* missing .*'x'; do not pass `out`.*: Scale"):
        call_tvm_ffi(module.Scale)
    with pytest.raises(TypeError, match="factr"):
        call_tvm_ffi(module.Scale, x, factr=1)
    with pytest.raises(TypeError, match="argument 'x': expected a tensor, got list"):
        call_tvm_ffi(module.Scale, [[1.0]])
    with pytest.raises(ValueError, match="no.such.function"):
        call_tvm_ffi("no.such.function", x, out=x)
    with pytest.raises(TypeError, match="expected out= for a function without a signature"):
        call_tvm_ffi(print, x)
    with pytest.raises(TypeError, match="expected a global name, a Function or a callable, got"):
        call_tvm_ffi(7, x, out=x)
    with pytest.raises(ValueError, match="out=: expected 1 outputs, got 2"):
        call_tvm_ffi(module.Scale, x, out=[x, x])
    with pytest.raises(TypeError, match="out=: expected tf.TensorSpec or .shape, dtype."):
        call_tvm_ffi(module.Scale, x, out=3)
    with pytest.raises(ValueError, match=r"out=: expected known extents, got shape \(None, 3\)"):
        call_tvm_ffi(module.Scale, x, out=tf.TensorSpec((None, 3)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        call_tvm_ffi(print, x, out=((-1, 3), tf.float32))
    print("errors")


def check_functions_that_vanish() -> None:
    tvm_ffi.register_global_func("test.tensorflow.gone", lambda a, y: None)
    graph = tf.function(lambda a: call_tvm_ffi("test.tensorflow.gone", a, out=a))
    graph(x)
    tvm_ffi.registry.remove_global_func("test.tensorflow.gone")
    with pytest.raises(
        tf.errors.NotFoundError, match="test.tensorflow.gone: KeyError: the global function is not"
    ):
        graph(x)
    tvm_ffi.register_global_func("test.tensorflow.gone", lambda a, y: None)
    graph(x)
    print("functions that vanish")


def check_wrong_results() -> None:
    answers = {
        "None": None, "int": 3, "two": [tvm_ffi.from_dlpack(np.zeros(3, np.float32))] * 2,
        "nothing": [], "no_tensor": [None], "among_others": [tvm_ffi.from_dlpack(np.zeros(3)), 1],
    }  # fmt: skip
    for name, answer in answers.items():
        tvm_ffi.register_global_func(
            f"test.tensorflow.{name}", lambda a, answer=answer: answer,
            signature="(a: float32[n]) -> float32[n]",
        )  # fmt: skip
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="expected the function to return 1 tensors"
        ):
            call_tvm_ffi(f"test.tensorflow.{name}", x[0])
    print("wrong results")


def fail(a, y):
    raise KeyError("no such row")


def check_errors_in_transforms() -> None:
    def call(a):
        return call_tvm_ffi(fail, a, out=((3,), tf.float32))

    def vjp(inputs, outputs, gradients):
        return call_tvm_ffi(fail, gradients[0], out=inputs[0])

    def derivative(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            loss = tf.reduce_sum(call_tvm_ffi(module.Scale, a, vjp=vjp))
        return tape.gradient(loss, a)

    mapped = {
        "map_fn": lambda a: tf.map_fn(call, a),
        "vectorized_map": lambda a: tf.vectorized_map(call, a),
        "gradient": derivative,
        "gradient in a graph": tf.function(derivative),
    }
    for name, run in mapped.items():
        with pytest.raises(tf.errors.NotFoundError, match="KeyError: 'no such row'"):
            run(x)
        print("errors in", name)
    rows = tf.vectorized_map(lambda row: call_tvm_ffi(module.Concat, row, row), x)
    assert rows.numpy()[1].tolist() == [3.0, 4.0, 5.0, 3.0, 4.0, 5.0]


def check_wrong_results_in_a_graph() -> None:
    tvm_ffi.register_global_func(
        "test.tensorflow.three", lambda a: [tvm_ffi.from_dlpack(np.zeros(3, np.float32))] * 3,
        signature="(a: float32[n]) -> (float32[n], float32[n])",
    )  # fmt: skip
    graph = tf.function(lambda a: call_tvm_ffi("test.tensorflow.three", a))
    with pytest.raises(tf.errors.InvalidArgumentError, match="to return 2 tensors, got 3"):
        graph(x[0])
    print("wrong results in a graph")


def check_forks() -> None:
    """Graphs wait for threads that a forked child lacks; its eager calls still work."""
    scaled = call_tvm_ffi(module.Scale, x)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(call_tvm_ffi(module.Scale, x).numpy().tolist() != scaled.numpy().tolist())
    assert os.waitpid(child, 0)[1] == 0
    assert call_tvm_ffi(module.Scale, x).numpy().tolist() == DOUBLED
    print("forks")


def check_forged_graphs() -> None:
    """Graphs may come from damaged files, so any attribute may be invalid."""
    raw = {
        "inputs": [x], "shapes": [[2, 3]], "Tout": [tf.float32], "function": "f",
        "arguments": [0, 1], "updated": [-1], "num_buffers": 1, "values": NO_VALUES,
    }  # fmt: skip
    wrong = [
        {"arguments": [-1]}, {"arguments": [4]}, {"arguments": [5]}, {"arguments": [3]},
        {"updated": []}, {"updated": [7]}, {"updated": [-2]}, {"updated": [0]},
        {"num_buffers": 2}, {"shapes": []}, {"values": "{"}, {"values": "1"},
    ]  # fmt: skip
    for change in wrong:
        with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.InternalError)):
            operators(tf).tvm_ffi_call(**{**raw, **change})
    print("forged graphs")
