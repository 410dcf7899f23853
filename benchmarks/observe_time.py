# SPDX-License-Identifier: Apache-2.0
"""Cost of observers: the time that statistics, a trace and a recording add to a call.

The call has three tensors and keeps the GIL.  The first row compares the call after observers were
removed with the call before the process had an observer, in the floor column.
"""

from __future__ import annotations

from collections.abc import Callable

from environment import Interpreter, compile_kernels, library_of
from results import FLOOR, OURS, Row, Samples, Unavailable
from scratch_environment import SetupError

OBSERVE_ROWS = {
    "observe_removed": "no-op(3 x Tensor), unobserved",
    "observe_stats": "added by tvm_ffi.stats",
    "observe_trace": "added by tvm_ffi.trace",
    "observe_record": "added by tvm_ffi.record, no contents",
}

# Prints the nanoseconds of a call: before observers, after observers, under each observer.
_PROGRAM = """
import gc, sys, tempfile, time
import numpy as np
import tvm_ffi

function = tvm_ffi.load_module(sys.argv[1]).get_function("noop")
function.release_gil = False
x = tvm_ffi.from_dlpack(np.zeros((4, 8), "float32"))

def burst(count=20_000):
    begin = time.perf_counter_ns()
    for _ in range(count):
        function(x, x, x)
    return (time.perf_counter_ns() - begin) / count

def fastest():
    return min(burst() for _ in range(5))

gc.disable()
for _ in range(3):
    burst()
before = fastest()
observers = [
    lambda: tvm_ffi.stats("noop"),
    lambda: tvm_ffi.trace(names="noop", max_calls=200_000),
    lambda: tvm_ffi.record(tempfile.mkdtemp() + "/run.tvmrec", "noop"),
]
under = []
for observer in observers:
    with observer():
        under.append(fastest())
print(before, fastest(), *under)
"""


def measure_observers(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows of observers."""
    rows = [Row(name, label, "ns") for name, label in OBSERVE_ROWS.items()]
    progress("observers")
    try:
        kernels = str(compile_kernels(library_of(interpreter)))
        lines = [interpreter.run("-c", _PROGRAM, kernels) for _ in range(rounds)]
    except SetupError as error:
        for row in rows:
            row.cells = {OURS: Unavailable(str(error))}
        return rows
    times = [[float(word) for word in line.split()] for line in lines]
    rows[0].cells = {
        OURS: Samples([after for _, after, *_ in times]),
        FLOOR: Samples([before for before, *_ in times]),
    }
    for i, row in enumerate(rows[1:]):
        row.cells = {OURS: Samples([under[i] - after for _, after, *under in times])}
    return rows
