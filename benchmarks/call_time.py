# SPDX-License-Identifier: Apache-2.0
"""The cost of calls and operations: all implementations in turn, row by row, round by round.

Interleaving makes drift (clock frequency, other load) hit all implementations alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from call.processes import WorkerProcess
from results import Row, Samples, Unavailable


class TimedRow(Protocol):
    """What is known here of a row: a call from Python, or an operation of the C++ API."""

    @property
    def name(self) -> str:
        """Stable key, which the workers know."""

    @property
    def label(self) -> str:
        """What the reader sees."""


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    burst_ns: int
    bursts: int


def measure_calls(
    rows: Sequence[TimedRow],
    workers: Mapping[str, WorkerProcess | Unavailable],
    effort: Effort,
    progress: Callable[[str], None],
    what: str = "calls",
) -> list[Row]:
    """Time the rows in all workers; a row that fails once in a worker is not tried again there.

    Parameters
    ----------
    rows : sequence of TimedRow
        What to measure.
    workers : mapping from implementation to worker
        Who measures; `Unavailable` fills the column with its reason.
    effort : Effort
        Number of rounds and length of a burst.
    progress : callable
        Receives one line of text per round.
    what : str
        How that line names the rows.
    """
    results = [Row(row.name, row.label, "ns") for row in rows]
    names = list(workers)
    for number in range(effort.rounds):
        progress(f"{what}: round {number + 1} of {effort.rounds}")
        first = number % len(names)
        for result in results:
            for name in names[first:] + names[:first]:
                _measure_once(result, name, workers[name], effort)
    return results


def _measure_once(row: Row, name: str, worker: WorkerProcess | Unavailable, effort: Effort) -> None:
    """Add the times of one visit to the row's cell."""
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
