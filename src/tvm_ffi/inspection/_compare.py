# SPDX-License-Identifier: Apache-2.0
"""Comparison of two builds of a library: changed functions, requirements and device code."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ._read import version_key
from ._report import LibraryReport


@dataclass(frozen=True)
class Change:
    """A value that differs: the signature of a function, a version, or the machine."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class LibraryDifference:
    """Differences between two libraries; see `compare_libraries`."""

    functions_added: tuple[str, ...] = ()
    functions_removed: tuple[str, ...] = ()
    functions_changed: tuple[Change, ...] = ()
    """Changed signatures; a signature that is unknown in one of the libraries is not compared."""
    symbols_newly_needed: tuple[str, ...] = ()
    """ABI symbols that only the second library needs."""
    floors_raised: tuple[Change, ...] = ()
    """Minimum versions of system libraries that are higher in the second library.

    The version before is ``"0"`` if the first library does not need the system library.
    """
    device_code_removed: tuple[str, ...] = ()
    """Device code that only the first library has, such as ``cubin sm_90``."""
    device_code_added: tuple[str, ...] = ()
    machine: Change | None = None

    def __bool__(self) -> bool:
        """Return True if there is any difference between the two libraries."""
        return any(getattr(self, part.name) for part in dataclasses.fields(self))

    @property
    def is_breaking(self) -> bool:
        """True if a program that works with the first library may fail with the second."""
        return bool(
            self.functions_removed
            or self.functions_changed
            or self.symbols_newly_needed
            or self.floors_raised
            or self.device_code_removed
            or self.machine
        )

    def to_json(self) -> dict[str, Any]:
        """Return the differences as a JSON serializable dict."""
        return {**dataclasses.asdict(self), "is_breaking": self.is_breaking}


def compare_libraries(before: LibraryReport, after: LibraryReport) -> LibraryDifference:
    """Return the differences between two libraries.

    Parameters
    ----------
    before, after : LibraryReport
        Reports that `inspect_library` has returned.
    """
    old = {function.name: function for function in before.functions}
    new = {function.name: function for function in after.functions}
    code_before, code_after = _architectures(before), _architectures(after)
    needed = {symbol.name for symbol in before.symbols}
    return LibraryDifference(
        functions_added=tuple(sorted(new.keys() - old.keys())),
        functions_removed=tuple(sorted(old.keys() - new.keys())),
        functions_changed=_changes(
            {name: old[name].signature for name in old},
            {name: new[name].signature for name in new},
        ),
        symbols_newly_needed=tuple(
            symbol.name for symbol in after.symbols if symbol.name not in needed
        ),
        floors_raised=tuple(
            Change(family, before.floors.get(family, "0"), version)
            for family, version in after.floors.items()
            if version_key(before.floors.get(family, "0")) < version_key(version)
        ),
        device_code_removed=tuple(sorted(code_before - code_after)),
        device_code_added=tuple(sorted(code_after - code_before)),
        machine=None
        if before.machine == after.machine
        else Change("machine", before.machine, after.machine),
    )


def _changes(before: dict[str, str | None], after: dict[str, str | None]) -> tuple[Change, ...]:
    found = []
    for name in sorted(before.keys() & after.keys()):
        first, second = before[name], after[name]
        if first is not None and second is not None and first != second:
            found.append(Change(name, first, second))
    return tuple(found)


def _architectures(report: LibraryReport) -> set[str]:
    return {f"{code.kind} {code.arch}" for code in report.device_code}
