# SPDX-License-Identifier: Apache-2.0
"""Import time of ``tvm_ffi`` in milliseconds, without the start of a bare interpreter.

A sample is the difference between fresh processes with ``-c "import tvm_ffi"`` and ``-c pass`` in
one round.  The second row hides torch: the incumbent imports torch if it is installed, which then
dominates its time.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence

from environment import BENCHMARKS, Interpreter
from results import Row, Samples, Unavailable

_HIDE_TORCH = "import sys; sys.modules['torch'] = None; "


def measure_import(
    interpreters: Sequence[Interpreter], rounds: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows of the import benchmark."""
    rows = {
        "": Row("import", "import tvm_ffi", "ms"),
        _HIDE_TORCH: Row("import_without_torch", "import tvm_ffi, torch hidden", "ms"),
    }
    for number in range(rounds + 1):  # round 0 warms the file caches; its times are discarded
        progress(f"import: round {number} of {rounds}")
        for interpreter in interpreters:
            for prefix, row in rows.items():
                _measure_once(row, interpreter, prefix, counted=number > 0)
    return list(rows.values())


def _measure_once(row: Row, interpreter: Interpreter, prefix: str, *, counted: bool) -> None:
    cell = row.cells.setdefault(interpreter.name, Samples([]))
    if isinstance(cell, Unavailable):
        return
    try:
        bare = _run_ms(interpreter, f"{prefix}pass")
        importing = _run_ms(interpreter, f"{prefix}import tvm_ffi")
    except subprocess.CalledProcessError as error:
        row.cells[interpreter.name] = Unavailable(_reason(error))
        return
    if counted:
        cell.values.append(importing - bare)


def _run_ms(interpreter: Interpreter, code: str) -> float:
    """Return the wall time of a fresh interpreter in milliseconds."""
    start = time.perf_counter()
    subprocess.run(
        [str(interpreter.executable), "-c", code],
        env=interpreter.environment(),
        cwd=BENCHMARKS,
        check=True,
        capture_output=True,
    )
    return (time.perf_counter() - start) * 1e3


def _reason(error: subprocess.CalledProcessError) -> str:
    lines = error.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"the interpreter ended with status {error.returncode}"
