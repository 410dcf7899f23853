# SPDX-License-Identifier: Apache-2.0
"""Measured values of a row: samples, or the reason for their absence."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Union

OURS = "ours"
INCUMBENT = "incumbent"
FLOOR = "floor"


@dataclass
class Samples:
    """Values measured in several rounds, in the unit of the row."""

    values: list[float]

    @property
    def minimum(self) -> float:
        """Smallest value: the cost least disturbed by other processes."""
        return min(self.values)

    @property
    def median(self) -> float:
        """Median value: the cost to expect."""
        return statistics.median(self.values)


@dataclass(frozen=True)
class Unavailable:
    """The reason why a value is missing."""

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
        """Return the samples of an implementation, or None if it was not measured."""
        cell = self.cells.get(implementation)
        return cell if isinstance(cell, Samples) else None

    def ratio(self, implementation: str, reference: str) -> float | None:
        """Return the ratio of two implementations' minima, or None if one was not measured."""
        measured, base = self.samples(implementation), self.samples(reference)
        if measured is None or base is None or base.minimum <= 0:
            return None
        return measured.minimum / base.minimum
