# SPDX-License-Identifier: Apache-2.0
"""What is known about a library, as plain values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

_FORMAT = 1  # of the JSON; grows when a name changes its meaning or goes away


@dataclass(frozen=True)
class FunctionReport:
    """A packed function that a library exports as ``__tvm_ffi_<name>``."""

    name: str
    signature: str | None = None
    """Parameters and result, ``(Tensor, int) -> None``; with names, defaults and directions where
    the library carries its signature; None when the file does not tell."""
    doc: str | None = None
    """Its documentation; None when it has none, or the file does not tell."""
    metadata: dict[str, Any] | None = None
    """Its metadata, where they are in the file as text."""
    unread: tuple[str, ...] = ()
    """Which of ``metadata`` and ``doc`` it has that only calling the library would tell."""


@dataclass(frozen=True)
class SymbolReport:
    """A symbol of the ABI that a library needs."""

    name: str
    readable_name: str
    """As in sources, without parameters."""
    is_provided: bool
    """Whether the installed runtime, or a library named beside it, defines it."""
    since: str | None = None
    """The release that introduced it; None when it is older than 0.1.8, or not known."""


@dataclass(frozen=True)
class EraReport:
    """Releases of the ABI that a library may have been built against."""

    declared: str | None = None
    """The level of the headers, where these wrote it into the library."""
    at_least: str | None = None
    """The first release that has all the library needs; None when any has."""
    at_most: str | None = None
    evidence: tuple[str, ...] = ()
    """What tells, in words."""


@dataclass(frozen=True)
class ModuleReport:
    """A module that travels inside a library."""

    kind: str
    """``_lib`` for the library's own code."""
    size_bytes: int | None
    """Of what its loader gets; None for ``_lib``."""
    imports: tuple[int, ...] = ()
    """Places of the imported modules in the list of modules."""


@dataclass(frozen=True)
class DeviceCodeReport:
    """Code for an accelerator."""

    kind: str
    """``cubin``, ``ptx`` or ``hip``."""
    arch: str
    """``sm_90a``, ``gfx942``."""
    size_bytes: int
    """As it is in the file, perhaps compressed."""
    place: str
    """The section that contains it."""


@dataclass(frozen=True)
class LibraryReport:
    """What a library exports, needs and contains; see `inspect_library`."""

    path: str
    size_bytes: int
    machine: str
    bits: int
    is_little_endian: bool
    is_for_this_machine: bool
    runtime: str
    """Level of the ABI of the installed runtime, which it is compared with."""
    soname: str | None = None
    needed: tuple[str, ...] = ()
    """Names of the libraries that it links to."""
    runpath: tuple[str, ...] = ()
    functions: tuple[FunctionReport, ...] = ()
    symbols: tuple[SymbolReport, ...] = ()
    era: EraReport = field(default_factory=EraReport)
    modules: tuple[ModuleReport, ...] = ()
    """Embedded modules; the first is the one that loading returns."""
    device_code: tuple[DeviceCodeReport, ...] = ()
    floors: dict[str, str] = field(default_factory=dict)
    """Least versions of ``GLIBC``, ``GLIBCXX``, ``CXXABI`` and others that it needs."""
    problems: tuple[str, ...] = ()
    """Why the installed runtime cannot serve it; empty when it can."""

    @property
    def is_served(self) -> bool:
        """Whether the installed runtime provides all that the library needs of the ABI."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the report as values that `json.dump` takes."""
        return {"format": _FORMAT, **dataclasses.asdict(self), "is_served": self.is_served}
