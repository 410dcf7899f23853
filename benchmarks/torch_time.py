# SPDX-License-Identifier: Apache-2.0
"""PyTorch adapter cost: eager calls, and calls in programs compiled by `torch.compile`.

For eager calls, the floor column is the same call without `tvm_ffi.interop.torch` imported.  For
compiled programs, it is the same program with an operator made by `torch.library.custom_op`.  Two
processes, of which one has imported the adapter, are measured alternately.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from call.processes import WorkerProcess
from environment import BENCHMARKS, Interpreter
from results import FLOOR, OURS, Row, Samples, Unavailable

TORCH_ROWS = ("torch_eager", "torch_compiled")


def measure_torch(
    interpreter: Interpreter, rounds: int, burst_ns: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows of calls with torch tensors, eager and compiled."""
    rows = [
        Row("torch_eager", "torch call, adapter loaded", "ns"),
        Row("torch_compiled", "call in a compiled torch program", "ns"),
    ]
    progress("torch programs")
    if importlib.util.find_spec("torch") is None:
        for row in rows:
            row.cells = {name: Unavailable("torch is not installed") for name in (OURS, FLOOR)}
        return rows
    command = [str(interpreter.executable), str(BENCHMARKS / "torch_worker.py")]
    environment = interpreter.environment()
    with (
        WorkerProcess([*command, "--adapter"], environment, BENCHMARKS) as adapted,
        WorkerProcess(command, environment, BENCHMARKS) as plain,
    ):
        questions = (
            (rows[0], OURS, adapted, "torch_eager"),
            (rows[0], FLOOR, plain, "torch_eager"),
            (rows[1], OURS, adapted, "torch_compiled"),
            (rows[1], FLOOR, adapted, "custom_op"),
        )
        for _ in range(rounds):
            for row, column, worker, name in questions:
                _keep(row, column, worker.ask({"measure": name, "burst_ns": burst_ns}))
    return rows


def _keep(row: Row, column: str, answer: dict[str, float]) -> None:
    if "ns" not in answer:
        row.cells[column] = Unavailable(str(answer.get("unavailable", "no answer")))
        return
    cell = row.cells.setdefault(column, Samples([]))
    if isinstance(cell, Samples):
        cell.values.append(answer["ns"])
