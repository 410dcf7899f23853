# SPDX-License-Identifier: Apache-2.0
"""Dataclasses of the report about a library."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

_FORMAT = 1  # version of the JSON; incremented if a key is removed or changes its meaning


@dataclass(frozen=True)
class FunctionReport:
    """A packed function that a library exports as ``__tvm_ffi_<name>``."""

    name: str
    signature: str | None = None
    """Parameters and result, such as ``(Tensor, int) -> None``; with names, defaults and directions
    if the library has a signature; None if the file does not contain the types."""
    doc: str | None = None
    """Documentation; None if it is absent or not readable from the file."""
    metadata: dict[str, Any] | None = None
    """Metadata, if the file contains them as text."""
    unread: tuple[str, ...] = ()
    """``"metadata"`` and ``"doc"`` if they exist but only calling the library would return them."""


@dataclass(frozen=True)
class SymbolReport:
    """An ABI symbol that a library needs."""

    name: str
    readable_name: str
    """Qualified name without parameters."""
    is_provided: bool
    """True if the installed runtime, or a library passed as `beside`, defines the symbol."""
    since: str | None = None
    """Release that introduced the symbol; None if earlier than 0.1.8 or unknown."""


@dataclass(frozen=True)
class EraReport:
    """Range of ABI levels that a library may have been compiled against."""

    declared: str | None = None
    """ABI level of the headers, if they recorded it in the library."""
    at_least: str | None = None
    """First possible release; None if there is no lower bound."""
    at_most: str | None = None
    """Last possible release; None if there is no upper bound."""
    evidence: tuple[str, ...] = ()
    """One sentence per symbol or string from which the range follows."""


@dataclass(frozen=True)
class ModuleReport:
    """A module embedded in a library."""

    kind: str
    """Kind of the module; ``_lib`` for the code of the library."""
    size_bytes: int | None
    """Size of the serialized module; None for ``_lib``."""
    imports: tuple[int, ...] = ()
    """Indices of the imported modules in `LibraryReport.modules`."""


@dataclass(frozen=True)
class DeviceCodeReport:
    """A device image in a library."""

    kind: str
    """``cubin``, ``ptx`` or ``hip``."""
    arch: str
    """Architecture, such as ``sm_90a`` or ``gfx942``."""
    size_bytes: int
    """Size in the file, possibly compressed."""
    place: str
    """Name of the section that contains it."""


@dataclass(frozen=True)
class LibraryReport:
    """Exports, requirements and contents of a library; see `inspect_library`."""

    path: str
    size_bytes: int
    machine: str
    bits: int
    is_little_endian: bool
    is_for_this_machine: bool
    runtime: str
    """ABI level of the installed runtime."""
    soname: str | None = None
    needed: tuple[str, ...] = ()
    """Names of the libraries that it is linked to (``DT_NEEDED``)."""
    runpath: tuple[str, ...] = ()
    functions: tuple[FunctionReport, ...] = ()
    symbols: tuple[SymbolReport, ...] = ()
    era: EraReport = field(default_factory=EraReport)
    modules: tuple[ModuleReport, ...] = ()
    """Embedded modules; loading the library returns the first."""
    device_code: tuple[DeviceCodeReport, ...] = ()
    floors: dict[str, str] = field(default_factory=dict)
    """Minimum required version by family: ``GLIBC``, ``GLIBCXX``, ``CXXABI`` and others."""
    problems: tuple[str, ...] = ()
    """Reasons why the installed runtime cannot load it; empty if it can."""

    @property
    def is_served(self) -> bool:
        """True if the installed runtime provides all ABI symbols that the library needs."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON serializable dict."""
        return {"format": _FORMAT, **dataclasses.asdict(self), "is_served": self.is_served}
