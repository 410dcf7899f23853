# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing of calls and operations in the workers of all implementations.

Each round times every row in every worker, so that drift (clock frequency, other load) affects all
implementations alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from call.processes import WorkerProcess
from results import Row, Samples, Unavailable


class TimedRow(Protocol):
    """The properties of a row that timing needs; a Python call or a C++ API operation."""

    @property
    def name(self) -> str:
        """Stable key of the row, which identifies it in requests to workers."""

    @property
    def label(self) -> str:
        """Label in reports and charts."""


@dataclass(frozen=True)
class Effort:
    """Durations of the bursts of a measurement."""

    rounds: int
    burst_ns: int  # duration of one burst
    bursts: int  # per row and round


def measure_calls(
    rows: Sequence[TimedRow],
    workers: Mapping[str, WorkerProcess | Unavailable],
    effort: Effort,
    progress: Callable[[str], None],
    title: str = "calls",
) -> list[Row]:
    """Time the rows in all workers; a row that fails in a worker is not retried there.

    Parameters
    ----------
    rows : sequence of TimedRow
        The rows to measure.
    workers : mapping from implementation to worker
        An `Unavailable` worker fills its column with the reason.
    effort : Effort
        Number of rounds and duration of a burst.
    progress : callable
        Receives one line of text per round.
    title : str
        Name of the rows in that line.
    """
    results = [Row(row.name, row.label, "ns") for row in rows]
    names = list(workers)
    for number in range(effort.rounds):
        progress(f"{title}: round {number + 1} of {effort.rounds}")
        first = number % len(names)
        for result in results:
            for name in names[first:] + names[:first]:
                _measure_once(result, name, workers[name], effort)
    return results


def _measure_once(row: Row, name: str, worker: WorkerProcess | Unavailable, effort: Effort) -> None:
    """Add the times in one answer of a worker to the cell of the row."""
    cell = row.cells.setdefault(name, Samples([]))
    if isinstance(cell, Unavailable):
        return
    if isinstance(worker, Unavailable):
        row.cells[name] = worker
        return
    request = {"row": row.name, "burst_ns": effort.burst_ns, "bursts": effort.bursts}
    answer = worker.ask(request)
    if "unavailable" in answer:
        row.cells[name] = Unavailable(answer["unavailable"])
    else:
        cell.values.extend(answer["ns"])
