# SPDX-License-Identifier: Apache-2.0
"""Agreement of wrappers with `Signature.check`: accepted arguments and error messages."""

from __future__ import annotations

import ctypes
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tvm_ffi
from tvm_ffi import Shape, convert_func
from tvm_ffi.codegen import make_wrapper
from tvm_ffi.core import ObjectRValueRef
from tvm_ffi.signature._check_program import check_program

from .printers import built

# Name of the function: its signature. All signatures are of one C function that does nothing.
SIGNATURES = {
    name: f"{name}{rest}"
    for name, rest in {
        "vectors": "(x: float32*[n], y: out float32*[n], n: int32, a: float = 1.0)",
        "updated": "(x: float32*[n], y: inout float32*[n], n: int)",
        "matrices": "(x: float32[n, m], y: float32[m, n] compact, z: Tensor[_, m] on cpu)",
        "rows": "(x: float32[n, m] compact from 1, y: Tensor[..., m] compact from -1, "
        "z: Tensor compact from 2 | None = None)",
        "planes": "(x: Tensor compact from -2)",
        "elements": "(x: float32[*s], y: out float32[*s], z: Tensor[n, *s, m] | None = None)",
        "batches": "(x: Tensor[*batch, 2] | None, y: Tensor[n, *batch] | None, z: Tensor[*batch], "
        "w: Tensor[*others] | None = None)",
        "gap": "(x: Tensor[n, ..., n], y: Tensor[..., 2])",
        "variable": "(x: T[n], y: T[...] | None, z: T*[...]) where T in (int8, float16, bfloat16)",
        "dtypes": "(x: {int8, bool, float32x4}*[n], y: {float32}[...])",
        "sums": "(x: Tensor[2*n + m - 1], n: int, m: int16)",
        "quotients": "(x: Tensor[n//m, cdiv(n, m), n % m], n: int, m: int64)",
        "extremes": "(x: Tensor[min(n, m)*max(n, 3)], n: int64, m: int)",
        "products": "(x: Tensor[n*n*n - n//7], n: int)",
        "optional": "(x: float32*[n] | None, y: Tensor[2*n] | None = None, n: int | None = None)",
        "late": "(x: Tensor[n] | None, y: Tensor[n], n: uint64)",
        "numbers": "(a: int8, b: uint8, c: int64, d: uint64, e: float32, f: float64)",
        "more_numbers": "(a: int, b: float, c: bool, d: int8 | None, e: uint32 = 7)",
        "texts": "(a: str, b: bytes, c: ctypes.c_void_p, d: str | None = None)",
        "devices": "(x: Tensor on cuda, y: Tensor on cpu:1)",
        "constants": "(x: Tensor[3, 0], y: Tensor[]) doc 'Two \"tensors\".'",
        "strides": "(x: float64*[n, m] strided, y: complex128*[_, ...])",
        "braces": "(x: {int8, int16}[n], é: Tensor, int: int)",
        "alignment": "(x: float32*[n] align 16, y: Tensor align 64 on cpu, "
        "z: float64* align 4 | None = None)",
        "anywhere": "(x: Tensor align 64)",
        "squares": "(x: float32[n, n], y: float32[n, _, 3] compact, a: float)",
        "eight": "(x: float32[a, b, a, c, d, e, a, b] compact)",
        "nine": "(x: float32[a, b, a, c, d, e, f, a, b] compact)",
        "written": "(x: Tensor, y: out Tensor, z: inout Tensor | None = None)",
        "defaults": "(a: int = 1, b: float = 2.0)",
        "nothing": "()",
    }.items()
}
WRAPPERS = {name: make_wrapper(text, "idle", arguments=[]) for name, text in SIGNATURES.items()}
IDLE = "void idle(void) {}\n"
RAW_CALLS = Path(__file__).with_name("raw_calls.c")
HUGE = 2**63
FLOAT32_MAX = 2.0**128 - 2.0**104
FLOAT32_END = 2.0**128 - 2.0**103


@pytest.fixture(scope="module")
def library(checker, c_compiler, tmp_path_factory):
    texts = [IDLE, RAW_CALLS.read_text(encoding="utf-8")]
    yield from built(
        checker, "agreement", WRAPPERS.values(), texts, tmp_path_factory.mktemp(checker)
    )


def outcome(function, args):
    """Return the class and the message of the error that a call raises; None if it succeeds."""
    try:
        function(*args)
    except Exception as error:
        return type(error), str(error)
    return None


def compare(library, name, args):
    """Return the outcome of `Signature.check` and of the wrapper, which must have the same one."""
    function = getattr(library, name)
    checked = outcome(WRAPPERS[name].signature.check, args)
    assert outcome(function, args) == checked
    if not any(map(is_converted, args)):
        assert outcome(library.forward, (function, *args)) == checked
    return checked


def is_converted(arg):
    """Return True if a call from Python may convert an argument before it passes it."""
    return isinstance(arg, os.PathLike) or (isinstance(arg, int) and not -HUGE <= arg < HUGE)


class Forged:
    """A NumPy array whose exported DLTensor was modified."""

    def __init__(self, shape, offset: int, kind: type[ctypes._SimpleCData], *content: int) -> None:
        self.tensor = tvm_ffi.from_dlpack(np.ones(shape, np.float32))
        self.offset, self.content = offset, (kind * len(content))(*content)

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        capsule = self.tensor.__dlpack__(max_version=(1, 0))
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        managed = get(capsule, b"dltensor_versioned")
        ctypes.memmove(managed + self.offset, self.content, ctypes.sizeof(self.content))
        return capsule


# Fields of DLManagedTensorVersioned: version, manager_ctx, deleter, flags, then the tensor.
TENSOR_AT = 32
DEVICE_AT, DTYPE_AT = TENSOR_AT + 8, TENSOR_AT + 20


def on_device(device_type, device_id, shape=(2,)):
    return Forged(shape, DEVICE_AT, ctypes.c_int32, device_type, device_id)


def at_handle(handle, device_type=4):
    """Return an array on an OpenCL device, whose data pointers are handles, not addresses."""
    return Forged((64,), TENSOR_AT, ctypes.c_int64, handle, device_type)


def with_dtype(code, bits, lanes):
    return Forged((2,), DTYPE_AT, ctypes.c_uint8, code, bits, lanes, 0)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def misaligned(count, dtype=np.float32):
    size = np.dtype(dtype).itemsize
    return np.zeros(count * size + 1, np.uint8)[1:].view(dtype)


def zeros_at(offset, *shape, dtype=np.float32):
    """Return an array of zeros at an address `size` bytes after a multiple of 4096."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 2 * 4096, np.uint8)
    start = -memory.ctypes.data % 4096 + offset
    return memory[start : start + size].view(dtype).reshape(shape)


def repeated(count, size):
    """Return `count` rows of `size` elements, with one memory for all rows, which is writable."""
    return np.lib.stride_tricks.as_strided(zeros(size), (count, size), (0, 4))


WHOLE = zeros(4)
F32, F64, I8, I16, F16 = np.float32, np.float64, np.int8, np.int16, np.float16

# Rows: function, arguments, and the expected error message or None.
TABLE = [
    ("vectors", (), "missing 3 required positional arguments: 'x', 'y' and 'n'"),
    ("vectors", (zeros(2),), "missing 2 required positional arguments: 'y' and 'n'"),
    ("vectors", (zeros(2), zeros(2)), "missing 1 required positional argument: 'n'"),
    ("vectors", (zeros(2), zeros(2), 2), None),
    (
        "vectors",
        (zeros(2), zeros(2), 2, 3, 4),
        "takes from 3 to 4 positional arguments but 5 wer",
    ),
    ("vectors", (zeros(2), zeros(2), 3), "argument 'n': must be n = 2, got 3"),
    ("vectors", (zeros(2), zeros(3), 2), "argument 'y': shape[0] must be n = 2, got 3"),
    ("vectors", (None, zeros(3), 2), "argument 'x': expected float32[n] compact, got None"),
    ("vectors", (zeros(2, dtype=F64), zeros(2), 2), "expected dtype float32, got float64"),
    ("vectors", (zeros(2, 2), zeros(2), 2), "expected 1 dimension, got 2"),
    ("vectors", (zeros(4)[::2], zeros(2), 2), "expected a compact tensor, got strides (2,)"),
    ("vectors", (zeros(4)[::-1], zeros(4), 4), "expected a compact tensor, got strides (-1,)"),
    ("vectors", (zeros(4)[1:], zeros(3), 3), None),
    ("vectors", (zeros(4)[::4], zeros(1), 1), None),
    ("vectors", (zeros(0)[::-1], zeros(0), 0), None),
    ("vectors", (misaligned(0), zeros(0), 0), None),
    (
        "vectors",
        (misaligned(2), zeros(2), 2),
        "argument 'x': expected an address aligned to 4 bytes, got remainder 1",
    ),
    ("vectors", (zeros(2), zeros(2), 2**31), "2147483648 does not fit int32"),
    ("vectors", (zeros(2), zeros(2), HUGE), "expected int32, got int of more than 64 bits"),
    ("vectors", (zeros(2), zeros(2), True), "expected int32, got bool"),
    ("vectors", (zeros(2), zeros(2), 2.0), "expected int32, got float"),
    ("vectors", (zeros(2), zeros(2), np.int8(2), np.float32(1)), None),
    ("vectors", (zeros(2), zeros(2), 2, True), None),
    ("vectors", (zeros(2), zeros(2), 2, "1"), "argument 'a': expected float, got str"),
    ("vectors", (zeros(2), zeros(2), 2, None), "argument 'a': expected float, got None"),
    ("vectors", (HUGE, zeros(2), 2), "expected float32[n] compact, got int of more than 64 bits"),
    ("vectors", ([0.0], zeros(1), 1), "expected float32[n] compact, got Array"),
    ("squares", (zeros(2, 2), zeros(2, 7, 3), 1.5), None),
    ("squares", (zeros(2, 2).T, zeros(2, 7, 3), 1.5), None),
    ("squares", (zeros(0, 0), zeros(0, 7, 3), 1.5), None),
    ("squares", (zeros(0, 0), zeros(7, 0, 3)[:0], 1.5), None),
    ("squares", (zeros(2, 3), zeros(2, 7, 3), 1.5), "'x': shape[1] must be n = 2, got 3"),
    ("squares", (zeros(3, 2), zeros(2, 7, 3), 1.5), "'x': shape[1] must be n = 3, got 2"),
    ("squares", (zeros(2, 0), zeros(2, 7, 3), 1.5), "'x': shape[1] must be n = 2, got 0"),
    ("squares", (zeros(0, 2), zeros(2, 7, 3), 1.5), "'x': shape[1] must be n = 0, got 2"),
    ("squares", (zeros(2, 2), zeros(0, 7, 3), 1.5), "'y': shape[0] must be n = 2, got 0"),
    ("squares", (zeros(2, 2), zeros(2, 7, 4), 1.5), "'y': shape[2] must be 3, got 4"),
    ("squares", (zeros(2, 2), zeros(2, 7, 6)[..., ::2], 1.5), "'y': expected a compact tensor"),
    ("squares", (zeros(2, 2), zeros(2, 7, 3), "1"), "'a': expected float, got str"),
    ("eight", (zeros(2, 3, 2, 4, 1, 5, 2, 3),), None),
    ("eight", (zeros(2, 3, 2, 4, 1, 5, 2, 3)[:, :, :, :, ::-1],), None),
    ("eight", (zeros(2, 3, 2, 4, 1, 0, 2, 3)[..., ::-1],), None),
    ("eight", (zeros(2, 3, 2, 4, 1, 5, 2, 4),), "'x': shape[7] must be b = 3, got 4"),
    ("eight", (zeros(2, 3, 2, 4, 1, 5, 1, 3),), "'x': shape[6] must be a = 2, got 1"),
    ("eight", (zeros(2, 3, 2, 4, 1, 5, 2, 3, 1),), "'x': expected 8 dimensions, got 9"),
    ("nine", (zeros(2, 3, 2, 4, 1, 5, 1, 2, 3),), None),
    ("nine", (zeros(2, 3, 2, 4, 1, 5, 1, 2, 4),), "'x': shape[8] must be b = 3, got 4"),
    ("nine", (zeros(2, 3, 2, 4, 1, 5, 1, 2, 6)[..., ::2],), "'x': expected a compact tensor"),
    ("variable", (3,) * 3, "'x': expected {int8, float16, bfloat16}[n], got int"),
    (
        "variable",
        (zeros(2, dtype=np.int8), None, 3),
        "'z': expected {int8, float16, bfloat16}[...] compact, got int",
    ),
    ("dtypes", (3, 3), "'x': expected {int8, bool, float32x4}[n] compact, got int"),
    ("vectors", ({1: 2}, zeros(1), 1), "expected float32[n] compact, got Map"),
    ("vectors", ({1, 2}, zeros(1), 1), "expected float32[n] compact, got Python object"),
    ("vectors", (len, zeros(1), 1), "expected float32[n] compact, got Callable"),
    ("vectors", (ValueError("x"), zeros(1), 1), "expected float32[n] compact, got ffi.Error"),
    ("vectors", (Shape((1, 2)), zeros(1), 1), "expected float32[n] compact, got ffi.Shape"),
    ("vectors", (tvm_ffi.dtype("int8"), zeros(1), 1), "expected float32[n] compact, got dtype"),
    ("vectors", (tvm_ffi.device("cpu"), zeros(1), 1), "expected float32[n] compact, got Device"),
    ("vectors", (ctypes.c_void_p(8), zeros(1), 1), "float32[n] compact, got ctypes.c_void_p"),
    ("vectors", (b"a long row of bytes", zeros(1), 1), "expected float32[n] compact, got bytes"),
    ("matrices", (zeros(2, 3), zeros(3, 2), zeros(9, 3)), None),
    ("matrices", (zeros(3, 2).T, zeros(3, 2), zeros(9, 3)), None),
    (
        "matrices",
        (zeros(2, 3), zeros(2, 3).T, zeros(9, 3)),
        "argument 'y': expected a compact tensor, got strides (1, 3)",
    ),
    ("matrices", (zeros(2, 1), zeros(8, 2)[::4][:1], zeros(9, 1)), None),
    ("matrices", (zeros(2, 0), zeros(0, 2), zeros(9, 0)), None),
    ("matrices", (zeros(2, 3), zeros(3, 2), zeros(9, 4)), "'z': shape[1] must be m = 3, got 4"),
    (
        "matrices",
        (zeros(2, 3), zeros(3, 2), on_device(2, 0, (9, 3))),
        "argument 'z': expected device cpu, got cuda:0",
    ),
    ("rows", (zeros(2, 3), zeros(3)), None),
    ("rows", (zeros(4, 3)[::2], zeros(3, 4, 3)[::-1, ::2]), None),
    ("rows", (zeros(4, 3)[::-1], repeated(5, 3)), None),
    (
        "rows",
        (zeros(2, 6)[:, ::2], zeros(3)),
        "argument 'x': expected a tensor that is compact from dimension 1, got strides (6, 2)",
    ),
    (
        "rows",
        (zeros(2, 2), zeros(2, 3).T),
        "argument 'y': expected a tensor that is compact from dimension -1, got strides (1, 3)",
    ),
    ("rows", (zeros(2, 2), zeros(4)[::2]), "compact from dimension -1, got strides (2,)"),
    ("rows", (zeros(2, 8)[:, ::8], zeros(3, 8)[:, ::8]), None),
    ("rows", (zeros(0, 8)[:, ::2], zeros(4)), None),
    ("rows", (zeros(0, 8)[:, ::2], zeros(0, 8)[:, ::2]), None),
    ("rows", (zeros(2, 3), zeros(3), zeros(3, 2, 4, 5).transpose(1, 0, 2, 3)), None),
    ("rows", (zeros(2, 3), zeros(3), zeros(4)[::2]), None),
    ("rows", (zeros(2, 3), zeros(3), zeros(3, 2).T), None),
    ("rows", (zeros(2, 3), zeros(3), zeros()), None),
    (
        "rows",
        (zeros(2, 3), zeros(3), zeros(2, 3, 5, 4).transpose(0, 1, 3, 2)),
        "'z': expected a tensor that is compact from dimension 2, got strides (60, 20, 1, 4)",
    ),
    ("rows", (zeros(2, 3), zeros(3), zeros(2, 3, 8)[:, :, ::2]), "got strides (24, 8, 2)"),
    ("rows", ("x", zeros(3)), "expected float32[n, m] compact from 1, got str"),
    ("planes", (zeros(),), None),
    ("planes", (zeros(4),), None),
    ("planes", (zeros(4, 3, 2)[::2],), None),
    ("planes", (zeros(4)[::2],), "compact from dimension -2, got strides (2,)"),
    ("planes", (zeros(4, 3)[::2],), "compact from dimension -2, got strides (6, 1)"),
    ("planes", (zeros(2, 4, 3)[:, ::2],), "compact from dimension -2, got strides (12, 6, 1)"),
    ("elements", (zeros(2, 3), zeros(2, 3)), None),
    ("elements", (zeros(), zeros()), None),
    ("elements", (zeros(2, 0), zeros(2, 0), zeros(7, 2, 0, 8)), None),
    ("elements", (zeros(2, 3), zeros(2, 3), zeros(7, 2, 3, 8)), None),
    (
        "elements",
        (zeros(2, 3), zeros(2, 4)),
        "argument 'y': shape[1] must be s[1] = 3, got 4",
    ),
    ("elements", (zeros(2, 3), zeros(6)), "'y': expected 2 dimensions for *s, got 1"),
    ("elements", (zeros(), zeros(1)), "'y': expected 0 dimensions for *s, got 1"),
    (
        "elements",
        (zeros(2, 3), zeros(2, 3), zeros(7, 2, 5, 8)),
        "argument 'z': shape[2] must be s[1] = 3, got 5",
    ),
    (
        "elements",
        (zeros(2), zeros(2), zeros(7, 2, 3, 8)),
        "argument 'z': expected 1 dimensions for *s, got 2",
    ),
    ("elements", (zeros(2), zeros(2), zeros(7)), "'z': expected at least 2 dimensions, got 1"),
    ("elements", ([1.0], zeros(1)), "'x': expected float32[*s], got Array"),
    ("batches", (zeros(3, 4, 2), zeros(5, 3, 4), zeros(3, 4)), None),
    ("batches", (None, zeros(5, 3, 4), zeros(3, 4), zeros(9)), None),
    ("batches", (None, None, zeros(3, 4)), None),
    ("batches", (zeros(3, 2), None, zeros(4)), "'z': shape[0] must be batch[0] = 3, got 4"),
    ("batches", (None, zeros(1, 3), zeros(4)), "'z': shape[0] must be batch[0] = 3, got 4"),
    ("batches", (zeros(3, 2), zeros(1, 4), zeros(3)), "'y': shape[1] must be batch[0] = 3, got 4"),
    ("batches", (zeros(3, 4, 2), None, zeros(3)), "'z': expected 2 dimensions for *batch, got 1"),
    ("gap", (zeros(2, 5, 2), zeros(2)), None),
    ("gap", (zeros(2, 2), zeros(1, 1, 2)), None),
    ("gap", (zeros(2, 5, 3), zeros(2)), "shape[2] must be n = 2, got 3"),
    ("gap", (zeros(2), zeros(2)), "expected at least 2 dimensions, got 1"),
    ("gap", (zeros(2, 2), zeros(1, 1, 3)), "'y': shape[2] must be 2, got 3"),
    ("gap", (zeros(2, 2), zeros()), "expected at least 1 dimension, got 0"),
    ("variable", (zeros(1, dtype=I8), zeros(3, 4, dtype=I8), zeros(2, dtype=I8)), None),
    ("variable", (zeros(1, dtype=I8), None, zeros(2, dtype=I8)), None),
    ("variable", (zeros(1, dtype=I8), zeros(2, dtype=F16), zeros(2)), "T = int8, got float16"),
    ("variable", (zeros(1, dtype=F16), None, zeros(2, dtype=I8)), "T = float16, got int8"),
    ("variable", (zeros(1), None, zeros(2)), "int8 or float16 or bfloat16, got float32"),
    (
        "variable",
        (zeros(1, dtype=F16), None, misaligned(2, F16)),
        "aligned to 2 bytes, got remainder 1",
    ),
    ("variable", (zeros(1, dtype=I8), None, misaligned(2, I8)), None),
    ("dtypes", (zeros(1, dtype=bool), zeros(1)), None),
    ("dtypes", (zeros(1, dtype=I16), zeros(1)), "dtype int8 or bool or float32x4, got int16"),
    ("sums", (zeros(8), 3, 3), None),
    ("sums", (zeros(7), 3, 3), "'x': shape[0] must be 2*n + m - 1 = 8, got 7"),
    ("sums", (zeros(7), 2**62, 3), "`2*n` does not fit 64 bits"),
    ("sums", (zeros(7), -(2**63), 0), "`2*n` does not fit 64 bits"),
    ("sums", (zeros(7), 2**62 - 1, 3), "`2*n + m` does not fit 64 bits"),
    ("sums", (zeros(7), -(2**62), 0), "`2*n + m - 1` does not fit 64 bits"),
    ("quotients", (zeros(3, 4, 1), 13, 4), None),
    ("quotients", (zeros(3, 4, 1), 13, 0), "'x': `n//m` divides by zero"),
    ("quotients", (zeros(3, 4, 1), -(2**63), -1), "`n//m` does not fit 64 bits"),
    ("quotients", (zeros(1, 1, 1), 7, -2), "shape[0] must be n//m = -4, got 1"),
    ("quotients", (zeros(1, 1, 1), -7, 2), "shape[0] must be n//m = -4, got 1"),
    ("quotients", (zeros(3, 3, 3), -7, -2), "shape[1] must be cdiv(n, m) = 4, got 3"),
    ("quotients", (zeros(3, 4, 3), -7, -2), "shape[2] must be n%m = -1, got 3"),
    ("extremes", (zeros(6), 2, 5), None),
    ("extremes", (zeros(20), 5, 4), None),
    ("extremes", (zeros(5), -1, 7), "shape[0] must be min(n, m)*max(n, 3) = -3, got 5"),
    ("products", (zeros(6), 2), "shape[0] must be n*n*n - n//7 = 8, got 6"),
    ("products", (zeros(6), 2**21), "`n*n*n` does not fit 64 bits"),
    ("optional", (None,), None),
    ("optional", (zeros(2), zeros(4)), None),
    ("optional", (None, zeros(4)), None),
    ("optional", (None, zeros(4), 2), None),
    ("optional", (zeros(2), zeros(5)), "'y': shape[0] must be 2*n = 4, got 5"),
    ("optional", (None, zeros(5), 2), "'y': shape[0] must be 2*n = 4, got 5"),
    ("optional", (zeros(3), None, 2), "'n': must be n = 3, got 2"),
    ("optional", (3,), "'x': expected float32[n] compact | None, got int"),
    ("optional", (misaligned(2),), "aligned to 4 bytes, got remainder 1"),
    ("late", (None, zeros(2), 2), None),
    ("late", (zeros(3), zeros(2), 2), "'y': shape[0] must be n = 3, got 2"),
    ("late", (None, zeros(2), 3), "'n': must be n = 2, got 3"),
    ("late", (None, zeros(2), HUGE), "'n': the number does not fit int64, as the extent n must"),
    ("late", (None, zeros(2), 2 * HUGE), "'n': expected uint64, got int of more than 64 bits"),
    ("late", (None, zeros(2), -HUGE - 1), "'n': expected uint64, got int of more than 64 bits"),
    ("numbers", (-128, 255, -HUGE, 2 * HUGE - 1, 1, 1.5), None),
    ("numbers", (-129, 255, 0, 0, 1, 1.5), "'a': -129 does not fit int8"),
    ("numbers", (128, 255, 0, 0, 1, 1.5), "'a': 128 does not fit int8"),
    ("numbers", (0, -1, 0, 0, 1, 1.5), "'b': -1 does not fit uint8"),
    ("numbers", (0, 0, HUGE, 0, 1, 1.5), "'c': expected int64, got int of more than 64 bits"),
    ("numbers", (0, 0, 0, -1, 1, 1.5), "'d': -1 does not fit uint64"),
    ("numbers", (0, 0, 0, -HUGE, 1, 1.5), "'d': -9223372036854775808 does not fit uint64"),
    ("numbers", (0, 0, 0, 0, True, 1.5), "'e': expected float32, got bool"),
    ("numbers", (0, 0, 0, 0, HUGE, HUGE), None),
    ("numbers", (0, 0, 0, 0, -math.inf, 1e300), None),
    ("numbers", (0, 0, 0, 0, math.nan, 1e300), None),
    ("numbers", (0, 0, 0, 0, FLOAT32_MAX, 1), None),
    ("numbers", (0, 0, 0, 0, -math.nextafter(FLOAT32_END, 0), 1), None),  # rounded to FLOAT32_MAX
    ("numbers", (0, 0, 0, 0, FLOAT32_END, 1), "'e': the number does not fit float32"),
    ("numbers", (0, 0, 0, 0, -1e300, 1), "'e': the number does not fit float32"),
    ("numbers", (0, 0, 0, 0, 10**300, 1), "'e': the number does not fit float32"),
    ("numbers", (0, 0, 0, 0, 1, 10**400), "'f': int too large to convert to float"),
    ("more_numbers", (True, 1, 1, None), None),
    ("more_numbers", (1, False, False, 5, 4294967295), None),
    ("more_numbers", (1, 1.0, 0.0, None), "'c': expected bool, got float"),
    ("more_numbers", (1, 1.0, True, 128), "'d': 128 does not fit int8"),
    ("more_numbers", (1, 1.0, True, "x"), "'d': expected int8 | None, got str"),
    ("more_numbers", (1, 1.0, True, None, 4294967296), "'e': 4294967296 does not fit uint32"),
    ("more_numbers", (HUGE, 1.0, True, None), "'a': expected int, got int of more than 64 bits"),
    ("texts", ("short", b"short", ctypes.c_void_p(1)), None),
    ("texts", ("a text of many bytes", b"many more bytes", None, "and this"), None),
    ("texts", (Path("of a file"), b"x", None, Path("of another")), None),
    ("texts", (b"x", b"x", None), "'a': expected str, got bytes"),
    ("texts", ("x", "a text of many bytes", None), "'b': expected bytes, got str"),
    ("texts", ("x", b"x", 0), "'c': expected ctypes.c_void_p, got int"),
    ("texts", ("x", b"x", None, 1), "'d': expected str | None, got int"),
    ("devices", (on_device(2, 3), on_device(1, 1)), None),
    ("devices", (zeros(1), on_device(1, 1)), "'x': expected device cuda, got cpu:0"),
    ("devices", (on_device(3, 0), on_device(1, 1)), "expected device cuda, got cuda_host:0"),
    ("devices", (on_device(5, 7), on_device(1, 1)), "expected device cuda, got 5:7"),
    ("devices", (on_device(2, 0), zeros(1)), "'y': expected device cpu:1, got cpu:0"),
    ("constants", (zeros(3, 0), zeros()), None),
    ("constants", (zeros(3, 1), zeros()), "shape[1] must be 0, got 1"),
    ("strides", (zeros(4, 4, dtype=F64)[::-1, ::2], zeros(2, dtype=np.complex128)), None),
    ("strides", (zeros(2, 2, dtype=F64), misaligned(1, np.complex128)), "aligned to 8 bytes"),
    (
        "strides",
        (zeros(1, 1, dtype=F64), zeros(*[2] * 10, dtype=np.complex128)[..., ::-1, :]),
        "got strides (512, 256, 128, 64, 32, 16, 8, 4, ...)",
    ),
    ("braces", (zeros(1, dtype=np.complex64), 1, 1), "int8 or int16, got complex64"),
    ("braces", (with_dtype(99, 8, 1), 1, 1), "int8 or int16, got an unnamed dtype"),
    ("braces", (with_dtype(0, 8, 4), 1, 1), "int8 or int16, got int8x4"),
    ("braces", (with_dtype(5, 64, 2), 1, 1), "int8 or int16, got complex64x2"),
    ("braces", (zeros(1), zeros(1), 1), "expected dtype int8 or int16, got float32"),
    ("braces", (None, zeros(1), 1), "'x': expected {int8, int16}[n], got None"),
    ("braces", (zeros(1, dtype=I8), 1, 1), "'é': expected Tensor, got int"),
    ("braces", (zeros(1, dtype=I8), zeros(1), "1"), "'int': expected int, got str"),
    ("alignment", (zeros_at(0, 2), zeros_at(0, 2)), None),
    ("alignment", (zeros_at(48, 2), zeros_at(64, 2)), None),
    (
        "alignment",
        (zeros_at(4, 2), zeros_at(0, 2)),
        "argument 'x': expected an address aligned to 16 bytes, got remainder 4",
    ),
    ("alignment", (zeros_at(0, 4)[2:], zeros_at(0)), "aligned to 16 bytes, got remainder 8"),
    ("alignment", (zeros_at(1, 2), zeros_at(0, 2)), "aligned to 16 bytes, got remainder 1"),
    (
        "alignment",
        (zeros_at(0, 2), zeros_at(32, 2)),
        "argument 'y': expected an address aligned to 64 bytes, got remainder 32",
    ),
    (
        "alignment",
        (zeros_at(0, 2), zeros_at(0, 8, 2)[::-1]),
        "aligned to 64 bytes, got remainder 56",
    ),
    ("alignment", (zeros_at(4, 0), zeros_at(1, 3, 0)), None),
    ("alignment", (zeros_at(4, 0), on_device(2, 0)), "'y': expected device cpu, got cuda:0"),
    ("alignment", (zeros_at(0, 2), zeros_at(0, 2), zeros_at(8, 2, dtype=F64)), None),
    (
        "alignment",
        (zeros_at(0, 2), zeros_at(0, 2), zeros_at(2, 2, dtype=F64)),
        "argument 'z': expected an address aligned to 4 bytes, got remainder 2",
    ),
    (
        "alignment",
        (zeros_at(0, 2), zeros_at(0, 2), zeros_at(4, 2, dtype=F64)),
        "argument 'z': expected an address aligned to 8 bytes, got remainder 4",
    ),
    ("alignment", (3, zeros_at(0)), "'x': expected float32[n] compact align 16, got int"),
    ("alignment", (zeros_at(0, 2), None), "'y': expected Tensor align 64 on cpu, got None"),
    ("written", (zeros(3), zeros(3)), None),
    ("written", (WHOLE, zeros(3), WHOLE), "'z': the array shares memory with argument 'x', and"),
    ("written", (zeros(3), WHOLE, WHOLE), "'z': the array shares memory with argument 'y', and"),
    ("written", (WHOLE[:2], WHOLE[1:]), "'y': the array shares memory with argument 'x', and"),
    ("written", (WHOLE[2:], WHOLE[:3]), "'y': the array shares memory with argument 'x', and"),
    ("written", (WHOLE[:2], WHOLE[2:]), None),
    ("written", (WHOLE[::2], WHOLE[1::2]), None),
    ("written", (at_handle(0x5000), at_handle(0x5040)), None),
    ("written", (at_handle(0x5000), at_handle(0x5000)), "'y': the array shares memory with"),
    ("written", (at_handle(0x5000, 2), at_handle(0x5040, 2)), "'y': the array shares memory with"),
    ("written", (WHOLE[::2], WHOLE[::2]), "'y': the array shares memory with argument 'x', and"),
    ("written", (WHOLE[:0], WHOLE), None),
    ("written", (WHOLE, WHOLE[:0]), None),
    ("written", (WHOLE, zeros(2), None), None),
    ("written", (WHOLE, repeated(1, 3)), None),
    ("written", (repeated(3, 3), zeros(3)), None),
    ("written", (zeros(3), repeated(0, 3)), None),
    (
        "written",
        (zeros(3), repeated(3, 2)),
        "'y': expected an array without repeated elements, because the function writes into it",
    ),
    ("nothing", (), None),
    ("nothing", (1,), "nothing() takes 0 positional arguments but 1 was given"),
    ("nothing", (1, 2), "nothing() takes 0 positional arguments but 2 were given"),
]


@pytest.mark.parametrize(
    ("name", "args", "text"), [pytest.param(*row, id=f"{row[0]}-{row[2]}") for row in TABLE]
)
@pytest.mark.breaks_rules
def test_check_and_wrapper_give_the_expected_message(library, name, args, text):
    raised = compare(library, name, args)
    if text is None:
        assert raised is None
    else:
        assert raised is not None
        assert text in raised[1]
        assert raised[1].startswith(f"{name}() ")


# Calls with a DLTensor pointer. Each row has: function, byte offset, variant of `call_with_view`,
# further arguments, and the expected message or None.
VIEW_CALLS = [
    ("alignment", 16, 0, (zeros_at(0, 2),), None),
    (
        "alignment",
        8,
        0,
        (zeros_at(0, 2),),
        "argument 'x': expected an address aligned to 16 bytes, got remainder 8",
    ),
    (
        "alignment",
        0,
        1,
        (zeros_at(0, 2),),
        "argument 'x': expected the address of the first element, got NULL",
    ),
    (
        "alignment",
        8,
        1,
        (zeros_at(0, 2),),
        "argument 'x': expected the address of the first element, got NULL",
    ),
    ("anywhere", 0, 3, (), "argument 'x': shape[0] must be >= 0, got -2"),
    ("vectors", 0, 3, (zeros(2), 2), "argument 'x': shape[0] must be >= 0, got -2"),
    ("anywhere", 0, 1, (), None),
    ("anywhere", 8, 1, (), None),
    (
        "anywhere",
        8,
        0,
        (),
        "argument 'x': expected an address aligned to 64 bytes, got remainder 8",
    ),
]


def check_raw_addresses(call_with_view, find):
    """Check the errors for addresses of DLTensor arguments without strides."""
    for name, byte_offset, variant, rest, text in VIEW_CALLS:
        raised = outcome(call_with_view, (find(name), zeros_at(0, 2), byte_offset, variant, *rest))
        assert raised == (None if text is None else (ValueError, f"{name}() {text}")), name


def test_addresses_of_dltensor_arguments_are_checked(library):
    check_raw_addresses(library.call_with_view, lambda name: getattr(library, name))


def test_negative_numbers_of_dimensions_are_refused(library):
    """Regression: -1 dimensions passed for a tensor with the first of several dtypes."""
    with pytest.raises(ValueError, match="argument 'x': expected 1 dimension, got -1"):
        library.call_with_view(library.braces, zeros(2, dtype=I8), 0, 4, zeros(1), 1)


DTYPES = st.sampled_from([F32, F64, I8, I16, F16, bool, np.complex128])


@st.composite
def arrays(draw):
    """Draw an array that may be empty, reversed, strided or misaligned."""
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    array = zeros(*shape, dtype=draw(DTYPES))
    kinds = ["whole", "whole", "zeros_at", "reversed", "part", "transposed", "odd"]
    kind = draw(st.sampled_from(kinds))
    if kind == "zeros_at":
        return zeros_at(draw(st.sampled_from([0, 4, 8, 16, 32, 64])), *shape, dtype=array.dtype)
    if kind == "odd" and array.size:
        return misaligned(array.size, array.dtype).reshape(shape)
    if kind == "transposed":
        return array.T
    if shape and kind == "reversed":
        return array[::-1]
    return array[::2] if shape and kind == "part" else array


INTEGERS = st.integers(-(2**65), 2**65) | st.integers(-5, 5) | st.sampled_from([2**62, -(2**63)])
SCALARS = st.none() | st.booleans() | st.floats() | st.text(max_size=9) | st.binary(max_size=9)
HOSTILE = (
    arrays() | INTEGERS | SCALARS | st.builds(on_device, st.integers(1, 18), st.integers(0, 2))
)


@given(st.sampled_from(sorted(WRAPPERS)), st.lists(HOSTILE, max_size=6))
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_check_and_wrapper_agree_on_random_arguments(library, name, args):
    compare(library, name, args)


@st.composite
def nearly_right(draw):
    """Draw valid arguments, except that one of them may be invalid."""
    n, m = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    name, args = draw(
        st.sampled_from(
            [
                ("vectors", [zeros(n), zeros(n), n]),
                ("matrices", [zeros(n, m), zeros(m, n), zeros(1, m)]),
                ("rows", [zeros(2 * n, m)[::2], zeros(n, m)]),
                ("elements", [zeros(n, m), zeros(n, m), zeros(m, n, m, n)]),
                ("batches", [zeros(n, m, 2), zeros(3, n, m), zeros(n, m)]),
                ("gap", [zeros(n, m, n), zeros(n, 2)]),
                ("sums", [zeros(max(2 * n + m - 1, 0)), n, m]),
                ("quotients", [zeros(n // (m + 1), -(-n // (m + 1)), n % (m + 1)), n, m + 1]),
                ("optional", [zeros(n), zeros(2 * n), n]),
                ("late", [zeros(n), zeros(n), n]),
                ("numbers", [n, n, n, n, n, n]),
                ("texts", ["a", b"b", None]),
                (
                    "alignment",
                    [zeros_at(16 * n, m), zeros_at(64 * m, n), zeros_at(4 * n, m, dtype=F64)],
                ),
            ]
        )
    )
    if draw(st.booleans()):
        args[draw(st.integers(0, len(args) - 1))] = draw(HOSTILE)
    return name, args


@given(nearly_right())
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_check_and_wrapper_agree_on_nearly_valid_arguments(library, case):
    compare(library, *case)


def test_moved_arguments_are_checked(library):
    compare(library, "vectors", (ObjectRValueRef(tvm_ffi.from_dlpack(zeros(2))), zeros(2), 2))
    text = "'x': expected float32[n] compact, got Callable"
    assert text in compare(library, "vectors", (ObjectRValueRef(convert_func(len)), zeros(2), 2))[1]


@pytest.mark.parametrize("position", [4, 5])
def test_big_integers_from_native_callers_are_not_floats(library, position):
    args = [0, 0, 0, 0, 0, 0]
    args[position] = HUGE
    with pytest.raises(ValueError, match="expected float.., got int of more than 64 bits"):
        library.forward(library.numbers, *args)


NEGATIVE_COUNTS = [
    ("defaults", r"^defaults\(\) takes from 0 to 2 positional arguments but -1 were given$"),
    ("nothing", r"^nothing\(\) takes 0 positional arguments but -1 were given$"),
    (
        "more_numbers",
        r"^more_numbers\(\) takes from 4 to 5 positional arguments but -1 were given$",
    ),
]


@pytest.mark.parametrize(("name", "message"), NEGATIVE_COUNTS)
def test_negative_numbers_of_arguments_are_refused(library, name, message):
    """Regression: a negative number was treated as 0, which is valid if all have defaults."""
    with pytest.raises(TypeError, match=message):
        library.call_with_count(getattr(library, name), -1)


@pytest.mark.parametrize(("name", "message"), NEGATIVE_COUNTS)
def test_check_functions_refuse_negative_numbers_of_arguments(library, name, message):
    """Regression: same as the generated wrappers."""
    create = tvm_ffi.get_global_func("pytvmffi.CheckFunction")
    checked = create(check_program(WRAPPERS[name].signature), convert_func(lambda *args: len(args)))
    with pytest.raises(TypeError, match=message):
        library.call_with_count(checked, -1)


@pytest.mark.parametrize(
    ("type_index", "type_name"),
    [
        (-1, "value of an unknown type"),
        (40, "value of an unknown type"),
        (10, "None"),
        (13, "ffi.Unchanged"),
    ],
)
def test_invalid_native_values_are_refused(library, type_index, type_name):
    with pytest.raises(TypeError) as caught:
        library.call_with_invalid(library.optional, type_index)
    assert (
        str(caught.value)
        == f"optional() argument 'x': expected float32[n] compact | None, got {type_name}"
    )


@pytest.mark.parametrize(
    ("name", "direction", "remedy"), [("vectors", "out", "array"), ("updated", "inout", "copy")]
)
def test_calls_refuse_read_only_memory(library, name, direction, remedy):
    """Native code does not see this flag, so the Python caller refuses, with the same message."""
    y = zeros(2)
    y.flags.writeable = False
    text = f"the array is read-only, and the function writes into it; pass a writable {remedy}"
    assert f"y: {direction}" in SIGNATURES[name]
    for call in (WRAPPERS[name].signature.check, getattr(library, name)):
        error, raised = outcome(call, (zeros(2), y, 2))
        assert error is BufferError
        assert "argument 'y'" in raised
        assert raised.endswith(f": {text}")
