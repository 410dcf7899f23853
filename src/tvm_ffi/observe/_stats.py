# SPDX-License-Identifier: Apache-2.0
"""Call statistics: calls, errors and durations per function, also as Prometheus text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..core import Function
from ..registry import get_global_func
from ._observer import UNNAMED, Observer

__all__ = ["FunctionStats", "Stats"]


class FunctionStats(NamedTuple):
    """The calls of one function.

    Attributes
    ----------
    calls : int
        The number of calls that have ended.
    errors : int
        The number of calls that ended with an error.
    total : float
        Sum of the durations, in seconds, including the functions that the function called.
    p50, p99 : float
        Median and 99th percentile of the durations, in seconds, exact up to 7 percent.
    """

    calls: int
    errors: int
    total: float
    p50: float
    p99: float


class Stats(Observer):
    """Statistics of the calls of functions, from every language and thread.

    Parameters
    ----------
    names : iterable of str, optional
        Names of the functions to observe; a name that ends with ``*`` is a prefix.  Default: all.

    Notes
    -----
    Functions with the same name share a row.  The results can be read while calls are observed.

    Examples
    --------
    >>> with tvm_ffi.stats() as stats:
    ...     _ = tvm_ffi.get_global_func("ffi.GetRegisteredTypeKeys")()
    >>> stats["ffi.GetRegisteredTypeKeys"].calls
    1
    """

    def __init__(self, names: Iterable[str] | str = ()) -> None:
        super().__init__(names)

    def _add(self) -> tuple[Function, int]:
        read, number = get_global_func("pytvmffi.ObserverAddStats")(self._names)
        return read, number

    @property
    def functions(self) -> dict[str, FunctionStats]:
        """The functions with calls, by name, in descending order of the total duration."""
        rows = [
            (
                name or UNNAMED,
                FunctionStats(
                    calls, errors, total * 1e-9, min(p50, total) * 1e-9, min(p99, total) * 1e-9
                ),
            )
            for name, calls, errors, total, p50, p99 in self._content() or ()
        ]
        return dict(sorted(rows, key=lambda row: -row[1].total))

    def __getitem__(self, name: str) -> FunctionStats:
        functions = self.functions
        if name not in functions:
            raise KeyError(f"Stats: no call of a function named {name!r} was observed")
        return functions[name]

    def prometheus(self) -> str:
        """Return the statistics in the text format of Prometheus, version 0.0.4."""
        duration, errors = "tvm_ffi_call_duration_seconds", "tvm_ffi_call_errors_total"
        summary = [f"# HELP {duration} Durations of function calls.", f"# TYPE {duration} summary"]
        counter = [f"# HELP {errors} Function calls that failed.", f"# TYPE {errors} counter"]
        for name, row in self.functions.items():
            text = name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
            label = f'function="{text}"'
            summary += [
                f'{duration}{{{label},quantile="0.5"}} {row.p50:.9g}',
                f'{duration}{{{label},quantile="0.99"}} {row.p99:.9g}',
                f"{duration}_sum{{{label}}} {row.total:.9g}",
                f"{duration}_count{{{label}}} {row.calls}",
            ]
            counter.append(f"{errors}{{{label}}} {row.errors}")
        return "\n".join(summary + counter) + "\n"

    def __str__(self) -> str:
        lines = [f"{'calls':>10} {'errors':>8} {'total':>12} {'p50':>12} {'p99':>12}  function"]
        for name, row in self.functions.items():
            times = " ".join(
                f"{seconds * 1e6:>9.2f} µs" for seconds in (row.total, row.p50, row.p99)
            )
            lines.append(f"{row.calls:>10} {row.errors:>8} {times}  {name}")
        return "\n".join(lines)
