# SPDX-License-Identifier: Apache-2.0
"""Cost of observers: the time that statistics, a trace and a recording add to a call.

The call has three tensors and keeps the GIL.  The first row compares the call after observers were
removed with the call before the process had an observer, in the floor column.  The rows of the
debug context have the call under the context and, in the floor column, the call without it.
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
# By the name of the call in _DEBUG_PROGRAM.
DEBUG_ROWS = {
    "debug_noop": "no-op(), tvm_ffi.debug",
    "debug_noop_ints": "no-op(int, int, int), tvm_ffi.debug",
    "debug_noop_tensors": "no-op(3 x Tensor), tvm_ffi.debug",
    "debug_noop_numpy": "no-op(3 x NumPy array), tvm_ffi.debug",
    "debug_checked_ints": "checked(int, int, int), tvm_ffi.debug",
    "debug_checked_numpy": "checked(3 x NumPy array), tvm_ffi.debug",
    "debug_add_4": "add of 4 float32, tvm_ffi.debug",
    "debug_add_1024": "add of 1024 float32, tvm_ffi.debug",
    "debug_add_1000000": "add of 10^6 float32, tvm_ffi.debug",
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

# Prints two numbers for each row: the nanoseconds of a call without and with the debug context.
_DEBUG_PROGRAM = """
import gc, sys, time
import numpy as np
import tvm_ffi

module = tvm_ffi.load_module(sys.argv[1])
arrays = [np.zeros((4, 8), "float32") for _ in range(3)]
tensors = [tvm_ffi.from_dlpack(x) for x in arrays]

def add_arguments(count):
    return [tvm_ffi.from_dlpack(np.zeros(count, "float32")) for _ in range(3)]

calls = {
    "debug_noop": ("noop", []),
    "debug_noop_ints": ("noop", [1, 2, 3]),
    "debug_noop_tensors": ("noop", tensors),
    "debug_noop_numpy": ("noop", arrays),
    "debug_checked_ints": ("checked_ints", [1, 2, 3]),
    "debug_checked_numpy": ("checked_arrays", arrays),
    "debug_add_4": ("add", add_arguments(4)),
    "debug_add_1024": ("add", add_arguments(1024)),
    "debug_add_1000000": ("add", add_arguments(10**6)),
}

def fastest(name, arguments, bursts=5):
    function = module.get_function(name)
    count = 40
    times = []
    for _ in range(bursts + 1):
        begin = time.perf_counter_ns()
        for _ in range(count):
            function(*arguments)
        times.append((time.perf_counter_ns() - begin) / count)
        count = max(10, int(2e6 / times[-1]))
    return min(times[1:])

gc.disable()
for name in sys.argv[2:]:
    before = fastest(*calls[name])
    with tvm_ffi.debug():
        print(before, fastest(*calls[name]))
"""


def measure_observers(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows of observers."""
    rows = [Row(name, label, "ns") for name, label in OBSERVE_ROWS.items()]
    progress("observers")
    rounds_of_numbers = _numbers(interpreter, rounds, rows, _PROGRAM)
    if rounds_of_numbers:
        rows[0].cells = {
            OURS: Samples([after for _, after, *_ in rounds_of_numbers]),
            FLOOR: Samples([before for before, *_ in rounds_of_numbers]),
        }
        for i, row in enumerate(rows[1:]):
            added = [under[i] - after for _, after, *under in rounds_of_numbers]
            row.cells = {OURS: Samples(added)}
    return rows


def measure_debug(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows of the debug context."""
    rows = [Row(name, label, "ns") for name, label in DEBUG_ROWS.items()]
    progress("debug context")
    rounds_of_numbers = _numbers(interpreter, rounds, rows, _DEBUG_PROGRAM, *DEBUG_ROWS)
    if rounds_of_numbers:
        for i, row in enumerate(rows):
            row.cells = {
                OURS: Samples([numbers[2 * i + 1] for numbers in rounds_of_numbers]),
                FLOOR: Samples([numbers[2 * i] for numbers in rounds_of_numbers]),
            }
    return rows


def _numbers(
    interpreter: Interpreter, rounds: int, rows: list[Row], program: str, *arguments: str
) -> list[list[float]]:
    """Return the numbers that a program prints in each round.

    If the program cannot run, the cells of the rows get the reason, and the list is empty.
    """
    try:
        kernels = str(compile_kernels(library_of(interpreter)))
        texts = [interpreter.run("-c", program, kernels, *arguments) for _ in range(rounds)]
    except SetupError as error:
        for row in rows:
            row.cells = {OURS: Unavailable(str(error))}
        return []
    return [[float(word) for word in text.split()] for text in texts]
