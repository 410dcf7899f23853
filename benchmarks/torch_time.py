# SPDX-License-Identifier: Apache-2.0
"""PyTorch adapter cost: eager calls, calls in compiled programs, and calls of operators.

For eager calls, the floor column is the same call without `tvm_ffi.interop.torch` imported.  For
compiled programs, it is the same program with an operator made by `torch.library.custom_op`.  For
operators, it is the same operator in C++, made by TORCH_LIBRARY (`torch_operator.cc`).  Two
processes, of which one has imported the adapter, are measured alternately.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from call.processes import WorkerProcess
from environment import BENCHMARKS, Interpreter
from results import FLOOR, OURS, Row, Samples, Unavailable

# Calls of operators: name of the row, and its label.
OPERATOR_ROWS = {
    "torch_operator": "registered operator, new result",
    "torch_operator_write": "registered operator, written argument",
    "torch_operator_derived": "registered operator with a derivative, no gradient needed",
    "torch_operator_gradient": "registered operator with a derivative, gradient needed",
    "torch_operator_traced": "operator of a function, written argument",
}
TORCH_ROWS = ("torch_eager", "torch_compiled", *OPERATOR_ROWS)


def measure_torch(
    interpreter: Interpreter, rounds: int, burst_ns: int, progress: Callable[[str], None]
) -> list[Row]:
    """Return the rows of calls with torch tensors, eager and compiled."""
    rows = [
        Row("torch_eager", "torch call, adapter loaded", "ns"),
        Row("torch_compiled", "call in a compiled torch program", "ns"),
        *(Row(name, label, "ns") for name, label in OPERATOR_ROWS.items()),
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
        questions = [
            (rows[0], OURS, adapted, "torch_eager"),
            (rows[0], FLOOR, plain, "torch_eager"),
            (rows[1], OURS, adapted, "torch_compiled"),
            (rows[1], FLOOR, adapted, "custom_op"),
        ]
        for row in rows[2:]:
            questions += [(row, OURS, adapted, row.name), (row, FLOOR, adapted, f"{row.name}_cpp")]
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
