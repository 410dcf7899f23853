# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: a wrong candidate is found, named with the first difference, and disabled."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from threads_together import run_together

import tvm_ffi

SIGNATURE = "scale(x: T[n, m], y: out T[n, m], a: float = 2.0) where T in (float16, float32, int32)"


def reference(x, y, a):
    y.numpy()[:] = (x.numpy() * a).astype(x.numpy().dtype)


def wrong_in_one_element(x, y, a):
    """Scale, but leave out the last column of the third row, as a wrong tail loop does."""
    reference(x, y, a)
    y.numpy()[2, -1] = 0


def arguments(shape=(4, 5), dtype=np.float32):
    x = (np.arange(shape[0] * shape[1], dtype=np.float64) + 1).reshape(shape).astype(dtype)
    return x, np.full(shape, 77, dtype)


def test_a_seeded_wrong_kernel_is_caught():
    d = tvm_ffi.dispatch(SIGNATURE, reference=reference, shadow=1)
    d.add(wrong_in_one_element, name="fast")
    x, y = arguments()
    with pytest.warns(RuntimeWarning) as caught:
        d(x, y)
    (warning,) = caught
    assert str(warning.message) == (
        "scale: candidate 'fast' differs from the reference and is disabled: y[2, 4] is 0.0, the "
        "reference has 30.0 (1 of 20 elements differ, tolerance 1.3e-06 relative and 1e-05 "
        "absolute)"
    )
    np.testing.assert_array_equal(y, x * 2)  # the call returns the values of the reference
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d(x, y)
    found = d.explain(x, y)
    assert found.chosen == "reference"
    assert found.candidates[0].reason.startswith("disabled in shadow mode: y[2, 4] is 0.0")


def test_one_in_n_calls_runs_the_reference():
    calls = []

    def counted(x, y, a):
        calls.append(1)
        reference(x, y, a)

    d = tvm_ffi.dispatch(SIGNATURE, reference=counted, shadow=10)
    d.add(reference, name="fast")
    for _ in range(100):
        d(*arguments())
    assert len(calls) == 10


def test_a_wrong_candidate_is_found_in_one_of_the_first_n_calls():
    d = tvm_ffi.dispatch(SIGNATURE, reference=reference, shadow=7)
    d.add(wrong_in_one_element, name="fast")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(7):
            d(*arguments())
    assert len(caught) == 1
    x, y = arguments()
    d(x, y)
    np.testing.assert_array_equal(y, x * 2)


@pytest.mark.parametrize(
    ("dtype", "error", "is_wrong"),
    [
        (np.float32, 1e-6, False),
        (np.float32, 1e-3, True),
        (np.float16, 2e-3, False),
        (np.float16, 1e-1, True),
        (np.int32, 1, True),
    ],
)
def test_tolerances_depend_on_the_dtype(dtype, error, is_wrong):
    def candidate(x, y, a):
        reference(x, y, a)
        y.numpy()[1, 1] += dtype(error)

    d = tvm_ffi.dispatch(SIGNATURE, reference=reference, shadow=1)
    d.add(candidate, name="fast")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        d(*arguments(dtype=dtype))
    assert bool(caught) == is_wrong


def test_tolerances_can_be_set():
    d = tvm_ffi.dispatch(SIGNATURE, reference=reference, shadow=1, rtol=0.0, atol=50.0)
    d.add(wrong_in_one_element, name="fast")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d(*arguments())
    assert d.explain(*arguments()).chosen == "fast"


def test_nan_and_infinity_are_values():
    def same(x, y, a):
        y.numpy()[:] = x.numpy()

    def other(x, y, a):
        same(x, y, a)
        y.numpy()[0, 1] = np.inf

    d = tvm_ffi.dispatch(SIGNATURE, reference=same, shadow=1)
    d.add(same, name="right")
    x, y = arguments()
    x[0, 0], x[0, 1] = np.nan, -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d(x, y)
    d.add(other, name="other", priority=1)
    with pytest.warns(RuntimeWarning, match=r"y\[0, 1\] is inf, the reference has -inf"):
        d(x, y)


def test_results_are_compared():
    d = tvm_ffi.dispatch(
        "total(n: int, k: float = 1.0) -> float", reference=lambda n, k: n * k, shadow=1
    )
    d.add(lambda n, k: n * k + (n == 3), name="fast")
    assert d(2) == 2.0
    with pytest.warns(RuntimeWarning, match=r"result is 4.0, the reference has 3.0"):
        assert d(3) == 3.0


def test_outputs_that_are_read_start_from_the_same_values():
    def add(x, y):
        y.numpy()[:] += x.numpy()

    d = tvm_ffi.dispatch("add(x: float32[n], y: inout float32[n])", reference=add, shadow=1)
    d.add(add, name="fast")
    x, y = np.ones(3, np.float32), np.full(3, 5, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d(x, y)
    assert y.tolist() == [6, 6, 6]


def test_errors_of_both_are_errors_of_the_call():
    def fails(x, y, a):
        raise KeyError("of the candidate")

    d = tvm_ffi.dispatch(SIGNATURE, reference=reference, shadow=1)
    d.add(fails, name="fast")
    with pytest.raises(KeyError, match="of the candidate"):
        d(*arguments())
    assert d.explain(*arguments()).chosen == "fast"


def test_empty_outputs_and_scalars():
    d = tvm_ffi.dispatch("f(x: float32[*s], y: out float32[*s])", reference=copy_to, shadow=1)
    d.add(lambda x, y: None, name="nothing")
    d(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32))
    assert d.explain(np.zeros(0, np.float32), np.zeros(0, np.float32)).chosen == "nothing"
    y = np.zeros((), np.float32)
    with pytest.warns(RuntimeWarning, match=r"y is 0.0, the reference has 5.0"):
        d(np.full((), 5, np.float32), y)
    assert y == 5


def copy_to(x, y):
    y.numpy()[...] = x.numpy()


def test_bfloat16_and_torch_tensors():
    torch = pytest.importorskip("torch")

    def right(x, y):
        torch.from_dlpack(y).copy_(torch.from_dlpack(x) * 2)

    def wrong(x, y):
        right(x, y)
        torch.from_dlpack(y)[1] += 1

    d = tvm_ffi.dispatch("f(x: bfloat16[n], y: out bfloat16[n])", reference=right, shadow=1)
    d.add(wrong, name="fast")
    x, y = torch.ones(3, dtype=torch.bfloat16), torch.zeros(3, dtype=torch.bfloat16)
    with pytest.warns(RuntimeWarning, match=r"y\[1\] is 3.0, the reference has 2.0"):
        d(x, y)
    assert y.tolist() == [2, 2, 2]


def test_threads_disable_a_candidate_once():
    d = tvm_ffi.dispatch(SIGNATURE, reference=reference, shadow=1)
    d.add(wrong_in_one_element, name="fast")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = run_together(lambda i: _scaled(d), 8)
    assert all(results)
    assert len([w for w in caught if "is disabled" in str(w.message)]) == 1


def _scaled(d):
    x, y = arguments()
    d(x, y)
    return bool((y == x * 2).all())


def test_prepared_calls_are_compared():
    d = tvm_ffi.dispatch(SIGNATURE, reference=reference, shadow=1)
    d.add(wrong_in_one_element, name="fast")
    x, y = arguments()
    h = d.prepare(x, y)
    with pytest.warns(RuntimeWarning, match="'fast' differs"):
        h()
    np.testing.assert_array_equal(y, x * 2)
