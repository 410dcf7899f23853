# SPDX-License-Identifier: Apache-2.0
"""`Signature.check`: accepted calls, and the messages for refused ones."""

from __future__ import annotations

import numpy as np
import pytest
from forged import READ_ONLY, Source

import tvm_ffi
import tvm_ffi.testing  # (importing the module registers a function)
from tvm_ffi import Signature

SOFTMAX = Signature.parse(
    "softmax(x: float32[n, m], y: out float32[n, m], temperature: float = 1.0)"
)
F32 = np.float32


def zeros(*shape, dtype=F32):
    return np.zeros(shape, dtype)


def test_valid_calls_are_accepted():
    SOFTMAX.check(zeros(2, 3), zeros(2, 3))
    SOFTMAX.check(zeros(2, 3), zeros(2, 3), 2)
    SOFTMAX.check(x=zeros(0, 3), temperature=0.5, y=zeros(0, 3))


INTS = zeros(1, dtype=np.int8), zeros(1, dtype=np.int16)


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "text"),
    [
        ((), {}, TypeError, "softmax() missing 2 required positional arguments: 'x' and 'y'"),
        ((zeros(1, 1),), {}, TypeError, "softmax() missing 1 required positional argument: 'y'"),
        (
            (zeros(1, 1), zeros(1, 1)),
            {"celsius": 1},
            TypeError,
            "softmax() got an unexpected keyword argument 'celsius'",
        ),
        (
            (1, zeros(1, 1)),
            {},
            TypeError,
            "softmax() argument 'x': expected float32[n, m], got int",
        ),
        (
            (zeros(2), zeros(1, 1)),
            {},
            ValueError,
            "softmax() argument 'x': expected 2 dimensions, got 1",
        ),
        (
            (zeros(1, 1, dtype=np.float64), zeros(1, 1)),
            {},
            ValueError,
            "softmax() argument 'x': expected dtype float32, got float64",
        ),
        (
            (zeros(2, 3), zeros(2, 4)),
            {},
            ValueError,
            "softmax() argument 'y': shape[1] must be m = 3, got 4",
        ),
        (
            (zeros(2, 3), read_only(zeros(2, 3))),
            {},
            BufferError,
            (
                "softmax() argument 'y': the array is read-only, and the function writes into it; "
                "pass a writable array"
            ),
        ),
        (
            (zeros(2, 3), zeros(2, 3), "1"),
            {},
            TypeError,
            "softmax() argument 'temperature': expected float, got str",
        ),
    ],
)
def test_invalid_calls_are_refused(args, kwargs, error, text):
    with pytest.raises(error) as caught:
        SOFTMAX.check(*args, **kwargs)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("text", "args", "error"),
    [
        ("f(x: T[n], y: T[n]) where T in (int8, int16)", INTS, "dtype T = int8, got int16"),
        ("f(x: T[n]) where T in (int8, int16)", (zeros(1),), "expected dtype int8 or int16, got"),
        ("f(x: {int8, bool}[n])", (zeros(1),), "expected dtype int8 or bool, got float32"),
        ("f(x: Tensor[n, ..., n])", (zeros(2, 5, 3),), "shape[2] must be n = 2, got 3"),
        ("f(x: Tensor[n, ..., n])", (zeros(2),), "expected at least 2 dimensions, got 1"),
        ("f(x: Tensor[2*n + 1], n: int)", (zeros(4), 2), "shape[0] must be 2*n + 1 = 5, got 4"),
        ("f(x: Tensor[n], n: int32)", (zeros(4), 3), "argument 'n': must be n = 4, got 3"),
        ("f(x: Tensor[4//n], n: int)", (zeros(4), 0), "`4//n` divides by zero"),
        ("f(x: Tensor[n*n], n: int)", (zeros(4), 2**40), "`n*n` does not fit 64 bits"),
        ("f(x: Tensor[3])", (zeros(4),), "shape[0] must be 3, got 4"),
        ("f(x: Tensor[n, m] compact)", (zeros(4, 4)[:, ::2],), "expected a compact tensor"),
        ("f(x: Tensor compact from 1)", (zeros(4, 4).T,), "compact from dimension 1, got strides"),
        ("f(x: Tensor[*s], y: Tensor[*s])", (zeros(4, 2), zeros(4, 3)), "must be s[1] = 2, got 3"),
        ("f(x: Tensor[*s], y: Tensor[*s])", (zeros(4, 2), zeros(4)), "2 dimensions for *s, got 1"),
        ("f(x: Tensor on cuda)", (zeros(4),), "expected device cuda, got cpu:0"),
        ("f(x: Tensor on cpu:1)", (zeros(4),), "expected device cpu:1, got cpu:0"),
        ("f(x: int8)", (128,), "128 does not fit int8"),
        ("f(x: uint8)", (True,), "expected uint8, got bool"),
        ("f(x: Array[int])", ([1, "a"],), "element [1]: expected int, got str"),
        ("f(*x: int)", (1, "a"), "argument 'x': expected int, got str"),
    ],
)  # fmt: skip
def test_messages_of_each_check(text, args, error):
    with pytest.raises((TypeError, ValueError)) as caught:
        Signature.parse(text).check(*args)
    assert error in str(caught.value)
    assert str(caught.value).startswith("f() argument '")


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("f(x: Tensor | None, y: Tensor[n] | None = None, z: int8 | None = None)", (None,)),
        ("f(x: Tensor[_, ...], *y: Tensor)", (zeros(2, 3), zeros(1), zeros(2, 2))),
        ("f(x: float64, y: float32)", (1, 2.5)),
        ("f(x: in Tensor)", (read_only(zeros(3)),)),
        ("f(x: Tensor[2*n], y: Tensor[n] | None)", (zeros(5), None)),
        ("f(x: Tensor[1, n] compact)", (zeros(4, 4)[1:2],)),
        ("f(x: Tensor on cpu)", (zeros(4),)),
    ],
)
def test_unchecked_properties_are_accepted(text, args):
    Signature.parse(text).check(*args)


@pytest.mark.parametrize("direction", ["in", "out", "inout", "unknown"])
@pytest.mark.parametrize("type_", ["Tensor", "Any"])
def test_read_only_memory_is_refused_as_in_calls(direction, type_):
    """Regression: `check` accepted read-only memory for direction `unknown`, calls refused it."""
    signature = Signature.parse(f"reads(x: {direction} {type_})")
    function = tvm_ffi.get_global_func("testing.echo")
    tvm_ffi.register_global_func("t.reads", function, override=True, signature=signature)
    called = tvm_ffi.get_global_func("t.reads")
    for array in (
        zeros(3),
        read_only(zeros(3)),
        tvm_ffi.readonly(zeros(3)),
        tvm_ffi.from_dlpack(read_only(zeros(3))),
        Source(flags=READ_ONLY),  # a subclass marks all of its arrays read-only
    ):
        assert refusal(signature.check, array) == refusal(called, array), array


def refusal(function, array) -> str | None:
    """Return the error message for an array, without the function's name in it."""
    try:
        function(array)
    except BufferError as error:
        return str(error).partition(": ")[2]
    return None


def test_custom_exceptions_propagate_from_a_check():
    """Regression: the exception was rebuilt with another message, which not every class allows."""
    error = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")

    class Path:
        def __fspath__(self):
            raise error

    with pytest.raises(UnicodeDecodeError) as caught:
        Signature.parse("f(path: str)").check(Path())
    assert caught.value is error
    if hasattr(error, "add_note"):
        assert error.__notes__ == ["While checking f() argument 'path'"]
