# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: functions as operators, eagerly and in graphs.  The last line printed is ``done``."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_bad_input
from guide_page import run_guide
from tensorflow_kernels import module

import tvm_ffi
from tvm_ffi.interop.tensorflow import call_tvm_ffi, register_operators

x = tf.reshape(tf.range(6, dtype=tf.float32), (2, 3))
DOUBLED = [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]


def check_eager() -> None:
    assert call_tvm_ffi(module.Scale, x).numpy().tolist() == DOUBLED
    assert call_tvm_ffi(module.Scale, x, factor=3).numpy()[1, 2] == 15
    assert call_tvm_ffi(module.Scale, x=x.numpy(), factor=0.1).numpy()[1, 2] == np.float32(0.5)
    assert call_tvm_ffi(module.Concat, x[0], x[1]).numpy().tolist() == list(range(6))
    assert call_tvm_ffi(module.Scale, tf.zeros((0, 3))).shape == (0, 3)
    print("eager")


def check_graph() -> None:
    @tf.function
    def graph(a):
        return call_tvm_ffi(module.Scale, a + 1) - 1

    assert graph(x).numpy().tolist() == [[1.0, 3.0, 5.0], [7.0, 9.0, 11.0]]
    assert graph.get_concrete_function(x).outputs[0].shape == (2, 3)
    print("graph")


def check_unknown_extents() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def graph(a):
        y = call_tvm_ffi(module.Concat, a, tf.zeros(2))
        assert y.shape.as_list() == [None]
        return y

    for n in (0, 1, 4):
        assert graph(tf.ones(n)).numpy().tolist() == [1.0] * n + [0.0, 0.0]

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def unknown_rank(a):
        return call_tvm_ffi(module.Concat, a, a)

    with pytest.raises(ValueError, match="argument 'a' has an unknown number of dimensions; pass"):
        unknown_rank(x[0])
    print("unknown extents")


def check_loops_and_branches() -> None:
    @tf.function
    def graph(a, n):
        for _ in tf.range(n):
            a = call_tvm_ffi(module.Scale, a)
        if tf.reduce_sum(a) > 100:
            a = call_tvm_ffi(module.Increment, a)
        return a

    assert graph(x, 1).numpy().tolist() == DOUBLED
    assert graph(x, 3).numpy()[1].tolist() == [25.0, 33.0, 41.0]
    rows = tf.map_fn(lambda row: call_tvm_ffi(module.Concat, row, row), x, tf.float32)
    rows = tf.map_fn(
        lambda row: call_tvm_ffi(module.Concat, row, row), x, fn_output_signature=tf.float32
    )
    assert rows.shape == (2, 6)
    print("loops and branches")


def check_values_from_the_graph() -> None:
    @tf.function
    def graph(a, factor):
        return call_tvm_ffi(module.Scale, a, factor=factor * 2)

    assert graph(x, tf.constant(1.5)).numpy()[0].tolist() == [0.0, 3.0, 6.0]
    assert graph(x, tf.constant(2.5, tf.float64)).numpy()[0].tolist() == [0.0, 5.0, 10.0]
    with pytest.raises(TypeError, match="argument 'factor': expected a value or a scalar tensor"):
        call_tvm_ffi(module.Scale, x, factor=x)
    print("values from the graph")


def check_updates_and_variables() -> None:
    before = tf.constant([1.0, 2.0])
    assert call_tvm_ffi(module.Increment, before).numpy().tolist() == [2.0, 3.0]
    assert before.numpy().tolist() == [1.0, 2.0]  # TensorFlow tensors are immutable
    variable = tf.Variable([1.0, 2.0])
    assert call_tvm_ffi(module.Increment, variable).numpy().tolist() == [2.0, 3.0]
    assert variable.numpy().tolist() == [2.0, 3.0]

    @tf.function
    def graph():
        call_tvm_ffi(module.Increment, variable)
        return call_tvm_ffi(module.Concat, variable, variable)

    assert graph().numpy().tolist() == [3.0, 4.0, 3.0, 4.0]
    print("updates and variables")


def check_results() -> None:
    y = call_tvm_ffi(module.Same, x, out=tf.TensorSpec((2, 3)))
    assert y.numpy().tolist() == x.numpy().tolist()
    with pytest.raises(ValueError, match="the signature does not say which shape result 0 has"):
        call_tvm_ffi(module.Same, x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have shape .3,2., got .2,3."):
        call_tvm_ffi(module.Same, x, out=tf.TensorSpec((3, 2)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have dtype int32, got float32"):
        call_tvm_ffi(module.Same, x, out=tf.TensorSpec((2, 3), tf.int32))
    print("results")


def check_functions_in_python() -> None:
    kept = []

    def transpose(a):
        kept.append(a)
        assert a.readonly
        return tvm_ffi.from_dlpack(np.from_dlpack(a).T)

    spec = tf.TensorSpec((3, 2))
    tvm_ffi.register_global_func(
        "test.tensorflow.transpose",
        transpose,
        signature="(a: float32[n, m]) -> float32[m, n]",
    )
    for eager in (True, False):
        call = call_tvm_ffi if eager else tf.function(call_tvm_ffi)
        y = call("test.tensorflow.transpose", x)
        assert y.numpy().tolist() == x.numpy().T.tolist()  # strides are kept
    del y
    assert kept[0].numpy().tolist() == x.numpy().tolist()  # shares memory; kept alive while in use

    def write(a, y):
        np.from_dlpack(y)[:] = np.from_dlpack(a).T

    assert call_tvm_ffi(write, x, out=spec).numpy().tolist() == x.numpy().T.tolist()
    assert call_tvm_ffi(write, x, out=[spec])[0].shape == (3, 2)
    assert call_tvm_ffi(write, x, out=((3, 2), "float32")).shape == (3, 2)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def graph(a):
        return call_tvm_ffi(write, a, out=(tf.reverse(tf.shape(a), [0]), tf.float32))

    assert graph(x).numpy().tolist() == x.numpy().T.tolist()
    assert graph(x[:1]).shape == (3, 1)
    print("functions in Python")


def check_effects() -> None:
    seen = []

    def note(a, text):
        seen.append((text, float(np.from_dlpack(a).sum())))

    @tf.function
    def graph(a):
        call_tvm_ffi(note, a, "first", out=[])
        call_tvm_ffi(note, a * 2, "second", out=[])
        return a

    graph(x)
    graph(x)
    assert seen == [("first", 15.0), ("second", 30.0)] * 2
    print("effects")


def check_values() -> None:
    got = []
    values = {
        "none": None, "yes": True, "number": -3, "large": 2**62, "real": 0.1, "text": "ä\0b",
        "items": [1, [2.5, "x"]], "dtype": tvm_ffi.dtype("bfloat16"), "scalar": np.float32(0.5),
        "device": tvm_ffi.device("cuda", 1), "mapping": {"a": 1}, "infinite": float("inf"),
    }  # fmt: skip
    call_tvm_ffi(lambda *args: got.append(args), out=[], **values)
    (args,) = got
    assert args[:6] == (None, True, -3, 2**62, 0.1, "ä\0b")
    assert [type(value) for value in args[1:5]] == [bool, int, int, float]
    assert list(args[6][1]) == [2.5, "x"]
    assert args[7:10] == (tvm_ffi.dtype("bfloat16"), 0.5, tvm_ffi.device("cuda", 1))
    assert (args[10]["a"], args[11]) == (1, float("inf"))
    with pytest.raises(TypeError, match="argument 'f': a object cannot be a constant of a graph"):
        call_tvm_ffi(print, out=[], f=object())
    print("values")


def check_dtypes() -> None:
    def copy(a, y):
        assert str(a.dtype) == str(y.dtype) == name
        y.numpy()[...] = a.numpy()

    names = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
    for name in [*names.split(), "complex64", "complex128", "bfloat16"]:
        a = tf.cast([0, 1, 1], name)
        assert bool(tf.reduce_all(call_tvm_ffi(copy, a, out=a) == a)), name
    scalar = call_tvm_ffi(copy_of(()), tf.constant(7.0), out=((), tf.float32))
    assert (scalar.shape, scalar.numpy()) == ((), 7)
    for refused in (tf.constant("text"), tf.cast([1.0], tf.qint8), tf.constant(["a"])):
        with pytest.raises(TypeError, match="tensors of dtype (string|qint8) have no DLPack form"):
            call_tvm_ffi(module.Scale, refused)
        with pytest.raises(TypeError, match="tensors of dtype (string|qint8) have no DLPack form"):
            call_tvm_ffi(copy, x, out=refused)
    with pytest.raises(TypeError, match="got RaggedTensor: pass value.to_tensor()"):
        call_tvm_ffi(module.Scale, tf.ragged.constant([[1.0], [2.0, 3.0]]))
    with pytest.raises(TypeError, match="got SparseTensor: pass tf.sparse.to_dense"):
        call_tvm_ffi(module.Scale, tf.sparse.from_dense(x))
    print("dtypes")


def copy_of(shape):
    def copy(a, y):
        assert a.shape == y.shape == shape
        y.numpy()[...] = a.numpy()

    return copy


def check_gradients() -> None:
    def vjp(inputs, outputs, gradients):
        assert (len(inputs), len(outputs)) == (1, 1)
        return call_tvm_ffi(module.Scale, gradients[0], factor=3.0)

    def loss(a):
        return tf.reduce_sum(call_tvm_ffi(module.Scale, a, factor=3.0, vjp=vjp) ** 2)

    variable = tf.Variable(x)
    for function in (loss, tf.function(loss)):
        with tf.GradientTape() as tape:
            value = function(variable)
        assert tape.gradient(value, variable).numpy()[1, 2] == 2 * 9 * 5
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(call_tvm_ffi(module.Scale, variable))
    with pytest.raises(LookupError, match="has no derivative; pass a derivative rule as vjp="):
        tape.gradient(value, variable)

    def wrong(*_):
        return None, None

    with tf.GradientTape() as tape:
        value = call_tvm_ffi(module.Scale, variable, vjp=wrong)
    with pytest.raises(ValueError, match="vjp: expected 1 gradients, one per tensor, got 2"):
        tape.gradient(value, variable)

    def raising(*_):
        raise ZeroDivisionError("in the rule")

    with tf.GradientTape() as tape:
        value = call_tvm_ffi(module.Scale, variable, vjp=raising)
    with pytest.raises(ZeroDivisionError, match="in the rule"):
        tape.gradient(value, variable)
    print("gradients")


def check_training() -> None:
    weight = tf.Variable(tf.ones((2, 3)))

    def vjp(inputs, outputs, gradients):
        return call_tvm_ffi(module.Scale, gradients[0])

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((call_tvm_ffi(module.Scale, weight, vjp=vjp) - x) ** 2)
        weight.assign_sub(0.5 * tape.gradient(loss, weight))
        return loss

    losses = [float(step()) for _ in range(20)]
    assert losses[-1] < 1e-3 * losses[0]
    print("training")


def check_threads() -> None:
    graph = tf.function(lambda a: call_tvm_ffi(module.Scale, a) + call_tvm_ffi(np_add, a, out=a))
    results = []

    def work(i):
        value = tf.fill((2, 3), float(i))
        for _ in range(20):
            results.append(bool(tf.reduce_all(graph(value) == 3.0 * i + 1)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 120
    print("threads")


def np_add(a, y):
    np.add(np.from_dlpack(a), 1, out=np.from_dlpack(y))


def check_arguments_without_an_operator() -> None:
    """Eager tensors are passed to functions like other arrays, as read-only tensors."""
    y = np.zeros((2, 3), np.float32)
    module.Scale(x, y)
    assert y.tolist() == DOUBLED
    with pytest.raises(BufferError, match="'y' .*the array is read-only, and the function writes"):
        module.Scale(y, x)
    with pytest.raises(TypeError, match="TensorFlow tensors of dtype string have no DLPack form"):
        module.Scale(tf.constant("text"), y)
    print("arguments without an operator")


def check_xla() -> None:
    done = subprocess.run(
        [sys.executable, "-c", XLA_WITHOUT_THE_OPERATORS], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == ["InvalidArgumentError"], done.stdout + done.stderr
    program = Path(__file__).with_name("tensorflow_xla.py")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["done"], done.stdout + done.stderr
    with pytest.raises(RuntimeError, match="TensorFlow has executed an operation already"):
        register_operators(xla=True)
    print("XLA")


XLA_WITHOUT_THE_OPERATORS = """
import tensorflow as tf
from tvm_ffi.interop.tensorflow import call_tvm_ffi
try:
    tf.function(lambda a: call_tvm_ffi(print, a, out=a), jit_compile=True)(tf.ones(2))
except tf.errors.InvalidArgumentError as error:
    assert "unsupported operations" in str(error) and "TvmFfiPureCall" in str(error), error
    print("InvalidArgumentError")
"""


def check_saved_models() -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def double(self, a):
            return call_tvm_ffi("test.tensorflow.double", a, out=(tf.shape(a), tf.float32))

    tvm_ffi.register_global_func("test.tensorflow.double", lambda a, y: None)
    tf.saved_model.save(Model(), "model")
    for variable, expected in {"yes": "[2.0, 4.0]", "": "NotFoundError"}.items():
        done = subprocess.run(
            [sys.executable, "-c", LOADS_A_MODEL], capture_output=True, text=True, check=False,
            env={**os.environ, "REGISTER": variable},
        )  # fmt: skip
        assert done.stdout.splitlines()[-1:] == [expected], done.stdout + done.stderr
    print("saved models")


LOADS_A_MODEL = """
import os
import numpy as np, tensorflow as tf, tvm_ffi
from tvm_ffi.interop.tensorflow import register_operators

if os.environ["REGISTER"]:
    @tvm_ffi.register_global_func("test.tensorflow.double")
    def double(a, y):
        np.multiply(np.from_dlpack(a), 2, out=np.from_dlpack(y))

register_operators()
try:
    print(tf.saved_model.load("model").double(tf.constant([1.0, 2.0])).numpy().tolist())
except tf.errors.NotFoundError as error:
    message = "test.tensorflow.double: KeyError: the global function is not registered"
    assert message in str(error), error
    print("NotFoundError")
"""


if __name__ == "__main__":
    for name, check in [*globals().items(), *vars(tensorflow_bad_input).items()]:
        if name.startswith("check_"):
            check()
    run_guide("tensorflow.md")
    print("done")
