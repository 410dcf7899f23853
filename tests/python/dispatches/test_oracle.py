# SPDX-License-Identifier: Apache-2.0
"""The choice of a dispatch agrees with a brute-force oracle in Python, for random calls."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from threads_together import run_together

import tvm_ffi

CALLS = int(os.environ.get("TVM_FFI_DISPATCH_CALLS", "10000"))
FEATURES = {
    "x86-64-v2": {"x86-64", "ssse3", "sse4.1", "sse4.2", "popcnt"},
    "x86-64-v3": {"avx", "avx2", "bmi", "bmi2", "fma"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}
# Name, requirement on the CPU, condition, the same in Python, priority.
CANDIDATES = [
    ("base", None, None, "True", 0),
    ("v2", "x86-64-v2", "d % 4 == 0", "d % 4 == 0", 10),
    ("v2 any", "x86-64-v2", None, "True", 5),
    ("v3", "x86-64-v3", "d % 8 == 0", "d % 8 == 0", 20),
    ("v3 half", "x86-64-v3", "T == float16", "T == 'float16'", 20),
    ("v3 small", "x86-64-v3", "rows * d <= 64 and rows != 1", "rows * d <= 64 and rows != 1", 20),
    ("v4", "x86-64-v4", "d % 16 == 0", "d % 16 == 0", 30),
    ("v4 fma", "x86-64-v4 fma", "d >= 8 and d % 2 == 1", "d >= 8 and d % 2 == 1", 30),
    ("avx2", "avx2", "bias is not None and k > d", "bias is not None and k > d", 25),
    ("vnni", "avx512vnni", None, "True", 40),
    ("k", None, "min(k, 7) == cdiv(d, 2)", "min(k, 7) == -(-d // 2)", 35),
    ("cheap", None, "bias is None and rows == 1", "bias is None and rows == 1", 0),
]


def oracle(features, values):
    """Return the name of the candidate that a call must use."""
    best = None
    for name, cpu, _, condition, priority in CANDIDATES:
        needed = set()
        for word in (cpu or "").split():
            levels = list(FEATURES)
            if word not in FEATURES:
                needed.add(word)
                continue
            for level in levels[: levels.index(word) + 1]:
                needed |= FEATURES[level]
        precedes = best is None or priority > best[0]
        if precedes and needed <= features and eval(condition, {"min": min}, values):
            best = priority, name
    return best[1]


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_random_calls_agree_with_the_oracle(cpu):
    signature = (
        "f(x: T[rows, d], k: int, bias: T[d] | None = None) -> str where T in (float16, float32)"
    )
    d = tvm_ffi.dispatch(signature, cpu=cpu)
    used = []
    for name, needed, when, _, priority in CANDIDATES:
        d.add(
            lambda x, k, bias, name=name: used.append(name) or name,
            name=name,
            cpu=needed,
            when=when,
            priority=priority,
        )
    features = {"x86-64"}
    for level in list(FEATURES)[: max(int(cpu[-1:]) - 1, 0) if cpu != "x86-64" else 0]:
        features |= FEATURES[level]
    rng = random.Random(35)
    seen = set()
    for _ in range(CALLS // 4):
        rows, extent = rng.choice([0, 1, 2, 3]), rng.choice([*range(20), 32, 48, 64, 100])
        dtype, k = rng.choice(["float16", "float32"]), rng.randrange(-2, 120)
        x = np.zeros((rows, extent), dtype)
        bias = rng.choice([None, np.zeros(extent, dtype)])
        values = {"rows": rows, "d": extent, "T": dtype, "k": k, "bias": bias}
        expected = oracle(features, values)
        assert d(x, k, bias) == expected, values
        seen.add(expected)
    assert len(used) == CALLS // 4
    assert len(seen) >= {"x86-64": 3, "x86-64-v2": 4, "x86-64-v3": 7, "x86-64-v4": 9}[cpu] - 1


def test_threads_share_the_recent_choices():
    """Calls with other values on other threads replace the choices that a call remembers."""
    d = tvm_ffi.dispatch("f(x: float32[d], k: int) -> int")
    for divisor in (7, 5, 3, 2, 1):
        d.add(
            lambda x, k, divisor=divisor: divisor,
            name=str(divisor),
            when=f"(d + k) % {divisor} == 0",
        )
    vectors = [np.zeros(extent, np.float32) for extent in range(40)]

    def work(number):
        rng = random.Random(number)
        for _ in range(3000):
            extent, k = rng.randrange(40), rng.randrange(10)
            expected = next(n for n in (7, 5, 3, 2, 1) if (extent + k) % n == 0)
            assert d(vectors[extent], k) == expected

    run_together(work, 4)


def test_random_numbers_agree_with_the_oracle():
    """Calls with numbers only; each is repeated, so that its choice is remembered."""
    d = tvm_ffi.dispatch("f(x: int, scale: float, y: int, flag: bool = False) -> int")
    for divisor in (7, 5, 3, 2, 1):
        d.add(
            lambda x, scale, y, flag, divisor=divisor: divisor,
            name=str(divisor),
            when=f"(x + 3 * y) % {divisor} == 0",
        )
    rng = random.Random(35)
    for _ in range(CALLS // 4):
        x = rng.choice([rng.randrange(-40, 40), True, 2**63 - 1 - rng.randrange(99)])
        y, flags = rng.choice([rng.randrange(-9, 9), False]), rng.choice([(), (True,), (0,)])
        if x + 3 * y >= 2**63:
            continue
        expected = next(n for n in (7, 5, 3, 2, 1) if (x + 3 * y) % n == 0)
        assert [d(x, rng.choice([1, 0.5]), y, *flags) for _ in range(2)] == [expected] * 2
        with pytest.raises(TypeError, match="scale"):
            d(x, "1", y)
        with pytest.raises(TypeError):
            d(x, 1.0, float(y))
