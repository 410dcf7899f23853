# SPDX-License-Identifier: Apache-2.0
"""Time per execution of a Python statement, in nanoseconds.

The loop is a function compiled for the statement, with the statement's names as local variables;
its own cost (a few nanoseconds, see the row "empty Python function") is part of the reported time
in every implementation alike.
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_RAISING = """\
try:
            {statement}
        except ValueError:
            pass"""
_LOOP = """\
def loop(repeats, {names}):
    start = clock()
    for _ in repeats:
        {body}
    return clock() - start
"""


@dataclass(frozen=True)
class Prepared:
    """A row made concrete: a statement of one line, and the values of its names."""

    statement: str
    values: dict[str, Any]
    raises: bool = False
    """Whether the statement ends in a ValueError."""

    def compile_loop(self) -> Callable[..., int]:
        """Return ``loop(repeats, **values)``, which gives the elapsed nanoseconds.

        Each row gets a loop of its own, so that the interpreter specializes it.
        """
        body = _RAISING.format(statement=self.statement) if self.raises else self.statement
        namespace: dict[str, Any] = {"clock": time.perf_counter_ns}
        exec(_LOOP.format(names=", ".join(self.values), body=body), namespace)
        loop: Callable[..., int] = namespace["loop"]
        return loop


class Timer:
    """Measures one statement in bursts of about the same length."""

    def __init__(self, prepared: Prepared) -> None:
        self._loop = prepared.compile_loop()
        self._values = prepared.values
        self._count = 0

    def measure(self, burst_ns: int, bursts: int) -> list[float]:
        """Return the nanoseconds per execution of each burst, after a short warm-up.

        Parameters
        ----------
        burst_ns : int
            Wanted duration of a burst in nanoseconds.
        bursts : int
            Number of bursts.
        """
        if self._count == 0:
            self._count = self._calibrate(burst_ns)
        self._run(self._count // 10 + 1)  # the process was idle while others were measured
        times = [self._run(self._count) / self._count for _ in range(bursts)]
        gc.collect()  # automatic collection is off; keep garbage of one row out of the next
        return times

    def _run(self, count: int) -> int:
        return self._loop(itertools.repeat(None, count), **self._values)

    def _calibrate(self, burst_ns: int) -> int:
        """Return the number of executions that take about `burst_ns`."""
        count = 1
        while (elapsed := self._run(count)) < burst_ns // 4:
            count *= 2
        return max(1, count * burst_ns // elapsed)
