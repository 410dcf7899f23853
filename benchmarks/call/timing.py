# SPDX-License-Identifier: Apache-2.0
"""Time per call of a Python callable, in nanoseconds.

The loop is a function compiled for the number of arguments, with the callable and its arguments
as local variables; its own cost (a few nanoseconds, see the row "empty Python function") is part
of the reported time in every implementation alike.
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable
from typing import Any

_PLAIN_BODY = "call({names})"
_RAISING_BODY = """\
try:
            call({names})
        except ValueError:
            pass"""
_LOOP = """\
def loop(repeats, call, args):
    {unpack}
    start = clock()
    for _ in repeats:
        {body}
    return clock() - start
"""


def compile_loop(num_args: int, *, raises: bool) -> Callable[..., int]:
    """Return ``loop(repeats, call, args)``, which gives the elapsed nanoseconds.

    Each row gets a loop of its own, so that the interpreter specializes it for the callable.
    """
    names = ", ".join(f"a{i}" for i in range(num_args))
    unpack = f"{names}, = args" if num_args else "pass"
    body = (_RAISING_BODY if raises else _PLAIN_BODY).format(names=names)
    namespace: dict[str, Any] = {"clock": time.perf_counter_ns}
    exec(_LOOP.format(unpack=unpack, body=body), namespace)
    loop: Callable[..., int] = namespace["loop"]
    return loop


class Timer:
    """Measures one callable in bursts of about the same length."""

    def __init__(self, call: Callable[..., Any], args: tuple[Any, ...], *, raises: bool) -> None:
        self._loop = compile_loop(len(args), raises=raises)
        self._call = call
        self._args = args
        self._count = 0

    def measure(self, burst_ns: int, bursts: int) -> list[float]:
        """Return the nanoseconds per call of each burst, after a short warm-up.

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
        return self._loop(itertools.repeat(None, count), self._call, self._args)

    def _calibrate(self, burst_ns: int) -> int:
        """Return the number of calls that take about `burst_ns`."""
        count = 1
        while (elapsed := self._run(count)) < burst_ns // 4:
            count *= 2
        return max(1, count * burst_ns // elapsed)
