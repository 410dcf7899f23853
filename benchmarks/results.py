# SPDX-License-Identifier: Apache-2.0
"""Measured values: samples, or the reason why there are none."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Union

OURS = "ours"
PEER = "peer"
FLOOR = "floor"


@dataclass
class Samples:
    """What several rounds measured, in the unit of the row."""

    values: list[float]

    @property
    def minimum(self) -> float:
        """Smallest value: the cost without disturbance by other processes."""
        return min(self.values)

    @property
    def median(self) -> float:
        """Median value: the cost to expect."""
        return statistics.median(self.values)


@dataclass(frozen=True)
class Unavailable:
    """No value, and why."""

    reason: str


Cell = Union[Samples, Unavailable]


@dataclass
class Row:
    """One line of the report: one cell per implementation."""

    name: str
    label: str
    unit: str
    cells: dict[str, Cell] = field(default_factory=dict)

    def samples(self, implementation: str) -> Samples | None:
        """Return what was measured for an implementation; None if nothing was."""
        cell = self.cells.get(implementation)
        return cell if isinstance(cell, Samples) else None

    def ratio(self, implementation: str, reference: str) -> float | None:
        """Return the ratio of the minima of two implementations, if both were measured."""
        measured, base = self.samples(implementation), self.samples(reference)
        if measured is None or base is None or base.minimum <= 0:
            return None
        return measured.minimum / base.minimum
