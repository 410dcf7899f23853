# SPDX-License-Identifier: Apache-2.0
"""Numba kernels: calls, types, errors and functions that cannot be compiled."""

from __future__ import annotations

import ctypes
import inspect
import math
import threading
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import tvm_ffi

numba = pytest.importorskip("numba", reason="Numba is not installed")

from tvm_ffi.interop.numba import kernel  # noqa: E402  (needs Numba)

PROGRAM = Path(__file__).with_name("call_scale.c")
F32 = np.float32
OLD = tuple(map(int, numba.__version__.split(".")[:2])) < (0, 68)


def scale(x, y, a):
    """Multiply a matrix."""
    if a == 0:
        raise ValueError("nothing is left of it")
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = a * x[i, j]


SCALE = "scale(x: float32[n, m], y: out float32[n, m], a: float = 2.0)"


def total(x):
    """Return the sum of a matrix's elements."""
    result = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            result += x[i, j]
    return result


@pytest.fixture(scope="module")
def scaled():
    return kernel(SCALE)(scale)


# ---- calls ---------------------------------------------------------------------------------------


def test_kernel_is_a_function_with_its_signature(scaled):
    assert type(scaled) is tvm_ffi.Function
    assert scaled.py_func is scale
    assert list(inspect.signature(scaled).parameters) == ["x", "y", "a"]
    assert scaled.__doc__.startswith("Multiply a matrix.")


def test_arrays_are_passed_without_a_copy(scaled):
    torch = pytest.importorskip("torch")
    x, y = np.array([[1, 2, 3], [4, 5, 6]], F32), np.zeros((2, 3), F32)
    scaled(x, y)
    assert y.tolist() == [[2, 4, 6], [8, 10, 12]]
    out = torch.zeros(2, 3)
    scaled(torch.from_numpy(x), y=out, a=-1)
    assert out.tolist() == [[-1, -2, -3], [-4, -5, -6]]


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((np.zeros((2, 3), F32), np.zeros((3, 2), F32)), ValueError, "shape[0] must be n = 2, got"),
        ((np.zeros((2, 3), F32).T, np.zeros((3, 2), F32)), ValueError, "expected a compact tensor"),
        (
            (np.zeros((2, 3)), np.zeros((2, 3), F32)),
            ValueError,
            "expected dtype float32, got float",
        ),
        ((np.zeros((2, 3), F32), np.zeros((2, 3), F32), "2"), TypeError, "expected float, got str"),
        ((np.zeros((2, 3), F32),), TypeError, "missing 1 required positional argument: 'y'"),
    ],
)
def test_arguments_that_violate_the_signature_are_rejected(scaled, args, error, text):
    with pytest.raises(error) as caught:
        scaled(*args)
    assert text in str(caught.value)


def test_inputs_may_be_read_only_arrays(scaled):
    x, y = np.ones((1, 1), F32), np.ones((1, 1), F32)
    x.flags.writeable = False
    scaled(x, y)
    with pytest.raises(BufferError, match="the array is read-only"):
        scaled(y, x)


def test_empty_arrays(scaled):
    scaled(np.zeros((0, 3), F32), np.zeros((0, 3), F32))
    scaled(np.zeros((3, 0), F32), np.zeros((3, 0), F32))


def test_numbers_are_returned():
    native = kernel("total(x: float64[n, m]) -> float")(total)
    assert native(np.array([[1, 2.5], [3, 4]])) == 10.5


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        ("int8", -3, -3),
        ("uint8", 200, 200),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int", -(2**63), -(2**63)),
        ("float32", 0.1, float(F32(0.1))),
        ("float", 0.1, 0.1),
        ("bool", True, True),
        ("bool", False, False),
    ],
)
def test_numbers_of_all_types_are_passed_and_returned(declared, value, expected):
    @kernel(f"same(a: {declared}) -> {declared}")
    def same(a):
        return a

    got = same(value)
    assert (type(got), got) == (type(expected), expected)


def test_strided_tensors():
    native = kernel("total(x: float64[n, m] strided) -> float")(total)
    x = np.arange(12, dtype=np.float64).reshape(3, 4)
    assert native(x.T) == 66
    assert native(x[::-1, ::2]) == 0 + 2 + 4 + 6 + 8 + 10
    assert native(np.broadcast_to(np.float64(2), (3, 4))) == 24


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4, 5)])
def test_arrays_with_any_number_of_dimensions(shape):
    extents = ", ".join("abcd"[: len(shape)])

    @kernel(f"add(x: int32[{extents}], y: out int32[{extents}])")
    def add(x, y):
        for index in np.ndindex(x.shape):
            y[index] = x[index] + 1

    x = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    y = np.zeros_like(x)
    add(x, y)
    assert np.array_equal(y, x + 1)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "uint64", "float32", "complex64", "complex128"]
)
def test_arrays_of_many_dtypes(dtype):
    @kernel(f"copy(x: {dtype}[n], y: out {dtype}[n])")
    def copy(x, y):
        for i in range(x.size):
            y[i] = x[i]

    x = np.array([0, 1, 1], dtype)
    y = np.zeros_like(x)
    copy(x, y)
    assert np.array_equal(x, y)


def test_dtype_variable_is_compiled_for_each_dtype():
    native = kernel("total(x: T[n, m]) -> float where T in (int8, float64)")(total)
    assert native(np.array([[100, 100]], np.int8)) == 200
    assert native(np.array([[0.5, 0.25]])) == 0.75
    with pytest.raises(ValueError, match="expected dtype int8 or float64, got float32"):
        native(np.zeros((1, 1), F32))


def test_result_tensors_are_allocated_and_passed_to_the_function():
    @kernel("outer(x: float32[n], y: float32[m]) -> float32[n, m]")
    def outer(x, y, out):
        for i in range(x.size):
            for j in range(y.size):
                out[i, j] = x[i] * y[j]

    product = outer(np.array([1, 2], F32), np.array([3, 4, 5], F32))
    assert product.numpy().tolist() == [[3, 4, 5], [6, 8, 10]]


@pytest.mark.parametrize("decorate", [kernel, kernel()], ids=["bare", "called"])
def test_signature_is_derived_from_annotations(decorate):
    @decorate
    def add(
        x: Annotated[tvm_ffi.Tensor, "float32[n]"],
        y: Annotated[tvm_ffi.Tensor, "inout float32[n]"],
        a: int = 1,
    ) -> None:
        for i in range(x.size):
            y[i] += a * x[i]

    y = np.zeros(2, F32)
    add(np.array([1, 2], F32), y)
    assert y.tolist() == [1, 2]


def test_signature_without_a_name_has_the_name_of_the_function():
    @kernel("(a: int) -> int")
    def successor(a):
        return a + 1

    assert successor.__name__ == "successor"
    assert successor(1) == 2
    with pytest.raises(ValueError, match="'<lambda>' cannot be the name of a function"):
        kernel("(a: int) -> int")(lambda a: a)


def test_kernels_call_numba_functions():
    helper = numba.njit(total)

    @kernel("doubled(x: float64[n, m]) -> float")
    def doubled(x):
        return 2 * helper(x)

    assert doubled(np.ones((2, 2))) == 8
    assert kernel("total(x: float64[n, m]) -> float")(helper)(np.ones((2, 2))) == 4


def test_mathematical_functions_need_no_python():
    @kernel("special(x: float64[n], y: out float64[n])")
    def special(x, y):
        for i in range(x.size):
            y[i] = math.gamma(x[i]) + math.lgamma(x[i]) + math.erf(x[i]) + np.exp(-x[i]) ** 1.5

    x = np.array([0.5, 3, 7])
    y = np.zeros(3)
    special(x, y)
    expected = [math.gamma(a) + math.lgamma(a) + math.erf(a) + math.exp(-a) ** 1.5 for a in x]
    assert y == pytest.approx(expected, rel=1e-14)


def test_parallel_loops_run_on_the_calling_thread():
    @kernel("fill(y: out int64[n])")
    def fill(y):
        for i in numba.prange(y.size):
            y[i] = i

    y = np.zeros(4, np.int64)
    fill(y)
    assert y.tolist() == [0, 1, 2, 3]


def test_kernels_are_compiled_and_called_by_threads():
    results, barrier = {}, threading.Barrier(4)

    def work(number):
        def add(a):
            return a + number

        barrier.wait()
        native = kernel("add(a: int) -> int")(add)
        results[number] = [native(a) for a in range(100)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [a + number for a in range(100)] for number in range(4)}


# ---- errors --------------------------------------------------------------------------------------


class OddError(ValueError):
    """An exception class that is not registered with `register_error`."""


def raising(a):
    if a == 1:
        raise ValueError('a text with "quotes", \\ and é')
    if a == 2:
        raise RuntimeError
    if a == 3:
        raise KeyError("a", 3)
    if a == 4:
        raise OddError("is odd")
    if a == 5:
        raise AssertionError("too large")  # pytest rewrites assert statements
    if a == 6:
        return 1 // (a - 6)
    return 0


@pytest.fixture(scope="module")
def raises():
    return kernel("raising(a: int) -> int")(raising)


@pytest.mark.parametrize(
    ("number", "error", "text"),
    [
        (1, ValueError, 'a text with "quotes", \\ and é'),
        (2, RuntimeError, ""),
        (3, KeyError, repr("('a', 3)")),
        (4, OddError, "is odd"),
        (5, AssertionError, "too large"),
        (6, ZeroDivisionError, "integer division by zero"),
    ],
)
@pytest.mark.breaks_rules
def test_exceptions_keep_type_and_message(raises, number, error, text):
    with pytest.raises(error) as caught:
        raises(number)
    assert type(caught.value) is error
    assert str(caught.value) == text
    assert raises(0) == 0


def test_exceptions_of_called_functions_propagate():
    helper = numba.njit(raising)

    @kernel("outer(a: int) -> int")
    def outer(a):
        return helper(a) + 1

    with pytest.raises(OddError, match="^is odd$"):
        outer(4)


def test_kernel_may_catch_exceptions():
    @kernel("tried(a: int) -> int")
    def tried(a):
        try:
            if a > 0:
                raise ValueError("positive")
        except Exception:
            return -1
        return a

    assert tried(5) == -1
    assert tried(-5) == -5


def test_results_are_released_when_the_kernel_raises():
    @kernel("filled(n: int) -> int8[n]")
    def filled(n, out):
        if n > 2:
            raise ValueError("too many")
        out[:] = 7

    assert filled(2).numpy().tolist() == [7, 7]
    with pytest.raises(ValueError, match="too many"):
        filled(3)


def test_boundscheck():
    def at(x, i):
        return x[i]

    checked = kernel("at(x: int64[n], i: int) -> int", boundscheck=True)(at)
    assert checked(np.array([5, 6]), 1) == 6
    assert checked(np.array([5, 6]), -1) == 6
    with pytest.raises(IndexError, match="index is out of bounds"):
        checked(np.array([5, 6]), 2)


def test_error_model():
    @kernel("ratio(a: float, b: float) -> float", error_model="numpy")
    def ratio(a, b):
        return a / b

    assert ratio(1, 0) == math.inf
    with pytest.raises(ValueError, match="error_model: expected 'python' or 'numpy', got 'c'"):
        kernel("f(a: int)", error_model="c")


# ---- inputs --------------------------------------------------------------------------------------


def sum_of_flat(x):
    result = 0.0
    for value in x.flat:
        result += value
    return result


def sum_by_iterator(x):
    result = 0.0
    for value in np.nditer(x):
        result += value.item()
    return result


def sum_of_rows(x):
    result = 0.0
    for row in x:
        result += row.sum()
    return result


def sum_of_a_tuple(x):
    pair = (x, x[:0])
    result = 0.0
    for i in range(2):
        result += pair[i].sum()
    return result


def sum_by_recursion(x):
    return recursive_sum(x, x.size)


@numba.njit
def recursive_sum(x, n):
    return x.flat[n - 1] + recursive_sum(x, n - 1) if n > 0 else 0.0


def test_kernels_follow_the_strides_of_rows():
    """`compact from 1` frees the strides of the rows, so a kernel must not assume compact ones."""
    native = kernel("f(x: float64[n, m] compact from 1) -> float")(total)
    x = np.arange(12.0).reshape(4, 3)
    assert native(x[::2]) == 3 + 21
    with pytest.raises(ValueError, match=r"compact from dimension 1, got strides \(1, 3\)"):
        native(x.T)


@pytest.mark.parametrize("layout", ["", " strided"], ids=["compact", "strided"])
@pytest.mark.parametrize(
    "function",
    [total, sum_of_flat, sum_by_iterator, sum_of_rows, sum_of_a_tuple, sum_by_recursion],
    ids=lambda function: function.__name__,
)
def test_kernels_read_inputs_in_many_ways(function, layout):
    """The check for written inputs must not refuse kernels that only read."""
    if function in (sum_of_flat, sum_by_iterator, sum_by_recursion) and layout and OLD:
        pytest.skip("older versions of Numba compute addresses of strided arrays as integers")
    x = np.arange(6.0).reshape(2, 3)
    x.flags.writeable = False
    assert kernel(f"f(x: float64[n, m]{layout}) -> float")(function)(x) == 15


def test_memory_of_bytes_objects_and_mapped_files_is_not_written(tmp_path):
    """Regression: `x.flat[0] = 9.0` changed bytes objects and crashed for mapped files."""
    content = np.arange(4.0).tobytes()
    (tmp_path / "data").write_bytes(content)
    native = kernel("f(x: inout float64[n])")(writes_flat)
    for x in (np.frombuffer(content), np.memmap(tmp_path / "data", np.float64, "r")):
        with pytest.raises(BufferError, match="argument 'x'.* read-only, and the function writes"):
            native(x)
    assert np.frombuffer(content).tolist() == [0, 1, 2, 3]


# ---- functions that cannot be compiled -----------------------------------------------------------


def writes_input(x):
    x[0] = 1


def adds_in_place(x):
    x += 1.0


def writes_flat(x):
    x.flat[0] = 9.0


def writes_by_iterator(x):
    for v in np.nditer(x):
        v[()] = 9.0


def writes_and_reads_flat(x):
    x.flat[0] += x.flat[1]


def fills(x):
    x.fill(1.0)


def writes_a_view(x):
    x[1:].T.flat[0] = 1.0


helper_that_writes = numba.njit(writes_flat)


def calls_helper_that_writes(x):
    helper_that_writes(x)


def allocates(x):
    x[0] = np.zeros(3)[0]


def copies(x):
    x[1:] = x[:-1]  # may overlap


def prints(x):
    print(x[0])


def random(x):
    x[0] = np.random.random()


def raises_late(x):
    raise ValueError("element", x[0])


def unknown(x):
    x[0] = undefined(x[0])  # noqa: F821


def returns(x):
    return x[0]


def returns_text(x):
    return "text"


ADDRESS = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda a: a)


def calls_address(x):
    x[0] = ADDRESS(x[0])


def takes_any_number(*x):
    x[0][0] = 1


def takes_keywords(x, **others):
    x[0] = 1


async def waits(x):
    x[0] = 1


def generates(x):
    yield x[0]


async def generates_late(x):
    yield x[0]


OUT = "f(x: out float64[n])"
WRITES = "writes to 'x', which its signature declares as an input; declare it"


@pytest.mark.parametrize(
    ("function", "signature", "text"),
    [
        *(
            (function, "f(x: float64[n])", f"^kernel '{function.__name__}' {WRITES} `{direction}`$")
            for function, direction in {
                writes_input: "out",
                adds_in_place: "inout",
                writes_flat: "out",
                writes_by_iterator: "out",
                writes_and_reads_flat: "inout",
                fills: "out",
                writes_a_view: "out",
                calls_helper_that_writes: "out",
            }.items()
        ),
        (writes_flat, "f(x: float64[n, m] strided)", f"'writes_flat' {WRITES} `(out|inout)`$"),
        (adds_in_place, "f(x: float64[n] strided)", f"'adds_in_place' {WRITES} `inout`$"),
        (
            allocates,
            OUT,
            "cannot be compiled: the function allocates memory, which needs Numba's run-time",
        ),
        (
            copies,
            OUT,
            "cannot be compiled: the function allocates memory, which needs Numba's run-time",
        ),
        (prints, OUT, "kernel 'prints' needs Python or Numba's run-time library.*PyFloat_FromDoub"),
        (random, OUT, "kernel 'random' needs Python or Numba's run-time library"),
        (raises_late, OUT, "the arguments of an exception must be constants"),
        (unknown, OUT, "(?s)'unknown' cannot be compiled: .*undefined"),
        (returns, OUT, r"(?s)'returns' cannot be compiled: .*none"),
        (returns_text, "f(x: float64[n]) -> float", "(?s)'returns_text' cannot be compiled"),
        (calls_address, OUT, "kernel 'calls_address' uses an address of this process"),
        (
            scale,
            "scale(x: float32[n, m])",
            r"has the parameters \(x, y, a\); its signature has \(x\)",
        ),
        (takes_any_number, OUT, r"has the parameters \(\*x\); its signature has \(x\)"),
        (takes_keywords, OUT, r"has the parameters \(x, \*\*others\); its signature has \(x\)"),
        (waits, OUT, "kernel 'waits' is a coroutine; expected a function that runs"),
        (generates, OUT, "kernel 'generates' is a generator;"),
        (generates_late, OUT, "kernel 'generates_late' is an asynchronous generator;"),
        (abs, OUT, "expected a function written in Python, got builtin_function_or_method"),
        (dict, OUT, "expected a function written in Python, got type"),
        (3, OUT, "expected a function written in Python, got int"),
        (returns, "f(y: float64[n])", r"has the parameters \(x\); its signature has \(y\)"),
        (returns, "f(x: float64[...])", r"f: 'x' is float64\[...\]; Numba kernels need the number"),
        (returns, "f(x: Tensor[n])", "f: 'x' is Tensor.n.; Numba kernels need one dtype or a"),
        (
            returns,
            "f(x: float16[n])",
            r"'x' is float16\[n\]; Numba has no arrays with dtype float16",
        ),
        (returns, "f(x: float64[n] | None)", "do not support tensors that may be None"),
        (returns, "f(x: float64[n] on cuda)", "Numba kernels run on the CPU"),
        (returns, "f(x: str)", "f: 'x' is str; Numba kernels take tensors and numbers"),
        (returns, "f(x: int | None)", "f: 'x' is int | None; Numba kernels take tensors and"),
        (returns, "f(x: int) -> str", "f: 'result' is str; Numba kernels take tensors and num"),
    ],
)
def test_functions_that_cannot_be_compiled_are_rejected(function, signature, text):
    with pytest.raises(TypeError, match=text):
        kernel(signature)(function)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("parallel", "kernel() has no option 'parallel'; Numba's threads need its run-time"),
        ("bounds", "no option 'bounds'; its options are boundscheck, fastmath, error_model"),
    ],
)
def test_unknown_options_are_rejected(option, text):
    with pytest.raises(TypeError) as caught:
        kernel("f()", **{option: True})
    assert text in str(caught.value)


def test_signature_that_cannot_be_parsed_is_rejected():
    with pytest.raises(ValueError, match="expected"):
        kernel("f(x float)")(returns)
