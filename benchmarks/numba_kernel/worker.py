# SPDX-License-Identifier: Apache-2.0
"""Worker process of `numba_time`: times Numba kernels, ``njit`` and the floor, interleaved.

Prints one line per round with four numbers: microseconds of a body as a kernel and as ``njit``
function; nanoseconds of a call of an empty kernel and of the floor's no-op, both of which check
their arguments.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy
from call.rows import CALL_ROWS
from call.subjects import FloorSubject, PreparedCall
from call.timing import Timer

from tvm_ffi.interop.numba import kernel

BURST_NS = 5_000_000
EXTENT = 512


def smooth(x: Any, y: Any) -> None:
    """Write the mean of each element and its neighbours in the row."""
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = (x[i, j - 1] + x[i, j] + x[i, j + 1]) / numpy.float32(3)


def noop(x: Any, y: Any, z: Any) -> None:
    """Take three matrices and do nothing."""


def main() -> None:
    """Time both pairs in each round."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--floor", type=Path, required=True)
    parser.add_argument("--kernels", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    options = parser.parse_args()
    bodies = [kernel("smooth(x: float32[n, m], y: out float32[n, m])")(smooth), numba.njit(smooth)]
    matrices = [numpy.random.default_rng(1).random((EXTENT, EXTENT), numpy.float32)]
    matrices.append(numpy.zeros_like(matrices[0]))
    floor = FloorSubject(options.kernels, options.floor, options.library, True)
    (row,) = (row for row in CALL_ROWS if row.name == "noop_numpy")
    prepared = floor.prepare(row)
    matrix = "float32[n, m]"
    ours = kernel(f"noop(x: {matrix}, y: {matrix}, z: {matrix})")(noop)
    calls = [PreparedCall(ours, prepared.args), prepared]
    timers = [Timer(call.timed(raises=False)) for call in calls]
    for _ in range(options.rounds):
        body_times = _microseconds(bodies, matrices)
        call_times = [min(timer.measure(BURST_NS, 5)) for timer in timers]
        print(*(f"{value:.3f}" for value in body_times + call_times))


def _microseconds(functions: list[Callable[..., Any]], args: list[Any]) -> list[float]:
    """Return the CPU time of one call of each function: the minimum of 100 interleaved calls."""
    times: list[list[int]] = [[] for _ in functions]
    for _ in range(100):
        for function, samples in zip(functions, times):
            begin = time.process_time_ns()
            function(*args)
            samples.append(time.process_time_ns() - begin)
    return [min(samples) / 1e3 for samples in times]


if __name__ == "__main__":
    main()
