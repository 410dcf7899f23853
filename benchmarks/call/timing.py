# SPDX-License-Identifier: Apache-2.0
"""Timer of a Python statement: nanoseconds per execution.

The loop is a function compiled for the statement, with the statement's names as local variables.
The cost of the loop is part of the reported time: a few nanoseconds (see the row "empty Python
function"), and equal for all implementations.
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
    """A one-line statement and the values of its names."""

    statement: str
    values: dict[str, Any]
    raises: bool = False
    """True if the statement raises a ValueError."""

    def compile_loop(self) -> Callable[..., int]:
        """Return ``loop(repeats, **values)``, which returns the elapsed nanoseconds.

        Each row has a separate loop, so that the interpreter specializes its bytecode.
        """
        body = _RAISING.format(statement=self.statement) if self.raises else self.statement
        namespace: dict[str, Any] = {"clock": time.perf_counter_ns}
        exec(_LOOP.format(names=", ".join(self.values), body=body), namespace)
        loop: Callable[..., int] = namespace["loop"]
        return loop


class Timer:
    """Timer of one statement, in bursts of about equal duration."""

    def __init__(self, prepared: Prepared) -> None:
        self._loop = prepared.compile_loop()
        self._values = prepared.values
        self._count = 0

    def measure(self, burst_ns: int, bursts: int) -> list[float]:
        """Return the nanoseconds per execution of each burst, after a short warm-up.

        Parameters
        ----------
        burst_ns : int
            Target duration of a burst in nanoseconds.
        bursts : int
            Number of bursts.
        """
        if self._count == 0:
            self._count = self._calibrate(burst_ns)
        # Warm up, because the process was idle during other measurements.
        self._run(self._count // 10 + 1)
        times = [self._run(self._count) / self._count for _ in range(bursts)]
        gc.collect()  # collect now, because automatic collection is off
        return times

    def _run(self, count: int) -> int:
        return self._loop(itertools.repeat(None, count), **self._values)

    def _calibrate(self, burst_ns: int) -> int:
        """Return the number of executions in `burst_ns`, approximately."""
        count = 1
        while (elapsed := self._run(count)) < burst_ns // 4:
            count *= 2
        return max(1, count * burst_ns // elapsed)
