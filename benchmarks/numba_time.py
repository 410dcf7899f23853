# SPDX-License-Identifier: Apache-2.0
"""Numba kernels: body time compared with ``njit``, and call time compared with the floor.

For the body, the floor column is Numba's own ``njit``, in CPU time.  For the call, it is the
hand-written extension, which calls a C kernel with the same checks.  One process measures
everything.
"""

from __future__ import annotations

from collections.abc import Callable

from environment import Interpreter, compile_checking_kernels, compile_floor, library_of
from results import FLOOR, OURS, Row, Samples, Unavailable
from scratch_environment import SetupError

NUMBA_ROWS = ("numba_body", "numba_call")


def measure_numba(
    interpreter: Interpreter, rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows of Numba kernels: body time and call time."""
    body = Row("numba_body", "Numba kernel body", "us")
    call = Row("numba_call", "Numba kernel(3 x NumPy array)", "ns")
    progress("Numba kernels")
    try:
        library = library_of(interpreter)
        arguments = {
            "--floor": str(compile_floor(library)),
            "--kernels": str(compile_checking_kernels(library)),
            "--library": str(library),
            "--rounds": str(rounds),
        }
        words = [word for pair in arguments.items() for word in pair]
        lines = interpreter.run("-m", "numba_kernel.worker", *words).splitlines()
    except (SetupError, ImportError) as error:
        for row in (body, call):
            row.cells = {name: Unavailable(str(error)) for name in (OURS, FLOOR)}
        return [body, call]
    columns = zip(*([float(word) for word in line.split()] for line in lines))
    ours_body, njit_body, ours_call, floor_call = (Samples(list(column)) for column in columns)
    body.cells = {OURS: ours_body, FLOOR: njit_body}
    call.cells = {OURS: ours_call, FLOOR: floor_call}
    return [body, call]
