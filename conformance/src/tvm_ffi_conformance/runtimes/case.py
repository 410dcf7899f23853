# SPDX-License-Identifier: Apache-2.0
"""Conformance cases: registration, identifiers and expectations.

A module of cases makes one `Topic` and decorates functions with `Topic.case` (one case) or
`Topic.each` (one case for each row of a table). A function gets the `Runtime` under test, and the
row; it returns if the runtime behaves as the cited section says and raises `Mismatch` otherwise.
Each case runs in a process of its own, so it may leave objects and registrations behind.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..documents import Section, section

CURRENT = (0, 1, 16)  # the highest level that the cases describe
ABORT_STATUS = 255  # exit status of a process that an abort-style function ends


class Mismatch(Exception):  # noqa: N818  # a verdict about the runtime, not a fault of the kit
    """The runtime behaves otherwise than the specification says."""


class Absent(Exception):  # noqa: N818
    """The runtime lacks a C function or a global function that the case needs."""


@dataclass(frozen=True)
class Case:
    """One conformance case.

    Attributes
    ----------
    id : str
        Stable identifier, words joined by dots.
    section : Section
        Heading that states the rule.
    rule : str
        The rule in one sentence.
    since : tuple of int
        First level whose runtimes must pass; `until` is the last one, or None.
    run : callable
        Function of the `Runtime`.
    ends : int or None
        Exit status with which the call under test must end the process.
    """

    id: str
    section: Section
    rule: str
    since: tuple[int, ...]
    run: Callable[[Any], None]
    until: tuple[int, ...] | None = None
    ends: int | None = None

    def required_at(self, level: tuple[int, ...]) -> bool:
        """Return True if a runtime of `level` must pass."""
        return self.since <= level and (self.until is None or level <= self.until)


REGISTRY: dict[str, Case] = {}


def parse_level(text: str) -> tuple[int, ...]:
    """Return the level that text such as ``0.1.8`` names."""
    if not re.fullmatch(r"\d+(\.\d+){2}", text):
        raise ValueError(f"expected a level such as 0.1.8, got {text!r}")
    return tuple(int(part) for part in text.split("."))


class Topic:
    """Group of cases with a common prefix of identifiers.

    Parameters
    ----------
    prefix : str
        First word of the identifiers.
    cites : str
        Section that the cases cite by default, see `documents.section`.
    since : str
        Level of the cases by default.
    """

    def __init__(self, prefix: str, cites: str, since: str = "0.1.0") -> None:
        self.prefix, self.cites, self.since = prefix, cites, since

    def case(self, name: str, rule: str, **options: Any) -> Callable[[Callable], Callable]:
        """Register the decorated function as one case."""

        def register(function: Callable[[Any], None]) -> Callable[[Any], None]:
            self._add(name, rule, function, **options)
            return function

        return register

    def each(
        self, name: str, rows: Iterable[Any], rule: str, **options: Any
    ) -> Callable[[Callable], Callable]:
        """Register one case for each row.

        Parameters
        ----------
        name : str
            Identifier without the prefix; ``{}`` is replaced by the name of the row.
        rows : iterable
            Rows: a tuple whose first element is the name of the row and whose others are the
            arguments of the function. A row that is text is its own argument.
        rule : str
            The rule; ``{}`` is replaced as in `name`.
        """

        def register(function: Callable[..., None]) -> Callable[..., None]:
            for row in rows:
                key, *arguments = (row, row) if isinstance(row, str) else row
                own = dict(options)
                if arguments and isinstance(arguments[-1], Options):
                    own.update(arguments.pop())

                def run(runtime: Any, arguments: tuple = tuple(arguments)) -> None:
                    function(runtime, *arguments)

                self._add(name.replace("{}", key), rule.replace("{}", key), run, **own)
            return function

        return register

    def _add(
        self,
        name: str,
        rule: str,
        run: Callable,
        cites: str | None = None,
        since: str | None = None,
        until: str | None = None,
        ends: int | None = None,
    ) -> None:
        identifier = f"{self.prefix}.{name}"
        if identifier in REGISTRY:
            raise ValueError(f"conformance case {identifier}: defined twice")
        REGISTRY[identifier] = Case(
            identifier,
            section(cites or self.cites),
            rule,
            parse_level(since or self.since),
            run,
            parse_level(until) if until else None,
            ends,
        )


class Options(dict):
    """Options of one row of `Topic.each`, as its last element: ``Options(since="0.1.9")``."""


def load_cases() -> dict[str, Case]:
    """Import all modules of cases and return the cases by identifier, sorted."""
    from . import cases

    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"{cases.__name__}.{module.name}")
    return dict(sorted(REGISTRY.items()))


def expect(condition: Any, message: str) -> None:
    """Raise `Mismatch` with `message` unless `condition` holds."""
    if not condition:
        raise Mismatch(message)


def equal(what: str, got: Any, expected: Any) -> None:
    """Raise `Mismatch` unless `got` equals `expected`; the types must agree for plain values."""
    if got != expected or (isinstance(got, bool) != isinstance(expected, bool)):
        raise Mismatch(f"{what}: expected {expected!r}, got {got!r}")


def run_on_threads(work: Callable[[int], object]) -> None:
    """Call ``work(index)`` on four threads at once, and wait for all of them."""
    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
