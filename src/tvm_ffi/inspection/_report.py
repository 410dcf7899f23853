# SPDX-License-Identifier: Apache-2.0
"""Dataclasses of the report that `inspect_library` returns."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

_FORMAT = 1  # version of the JSON form; incremented if a key is removed or changes its meaning


@dataclass(frozen=True)
class FunctionReport:
    """A packed function that a library exports as ``__tvm_ffi_<name>``."""

    name: str
    signature: str | None = None
    """Parameters and result, such as ``(Tensor, int) -> None``.

    Names, defaults and directions of parameters are included if the library contains a signature.
    None if the file does not contain the types.
    """
    doc: str | None = None
    """Documentation; None if it is missing or not stored as text in the file."""
    metadata: dict[str, Any] | None = None
    """Metadata; None if they are missing or not stored as text in the file."""
    unread: tuple[str, ...] = ()
    """``"metadata"`` or ``"doc"`` if only a call of a library function would return this text."""


@dataclass(frozen=True)
class SymbolReport:
    """An ABI symbol that a library needs."""

    name: str
    readable_name: str
    """Qualified C++ name without parameters; the symbol itself for C functions."""
    is_provided: bool
    """True if the runtime or a library in the argument `beside` defines the symbol."""
    since: str | None = None
    """Release that introduced the symbol; None if unknown or earlier than 0.1.8."""


@dataclass(frozen=True)
class EraReport:
    """Range of ABI levels that a library may have been compiled against."""

    declared: str | None = None
    """ABI level that the headers recorded in the library; None if they recorded none."""
    at_least: str | None = None
    """First release that the library may have been compiled against; None if unknown."""
    at_most: str | None = None
    """Last release that the library may have been compiled against; None if unknown."""
    evidence: tuple[str, ...] = ()
    """One phrase per symbol or string that implies the range."""


@dataclass(frozen=True)
class ModuleReport:
    """A module embedded in a library."""

    kind: str
    """Kind of the module; ``_lib`` for the code of the library."""
    size_bytes: int | None
    """Size of the serialized module, in bytes; None for ``_lib``."""
    imports: tuple[int, ...] = ()
    """Indices of the imported modules in `LibraryReport.modules`."""
    loader: str | None = None
    """Name of the global function that loads the module; None for ``_lib``."""
    has_loader: bool = True
    """True if the inspecting process has the loader; another package may register it later."""
    functions: tuple[FunctionReport, ...] = ()
    """Functions of a module of kind ``cuda_driver``; empty for other kinds."""


@dataclass(frozen=True)
class DeviceCodeReport:
    """A device image in a library."""

    kind: str
    """``cubin``, ``ptx`` or ``hip``."""
    arch: str
    """Architecture, such as ``sm_90a`` or ``gfx942``."""
    size_bytes: int
    """Size of the image in the file, in bytes; the image may be compressed."""
    place: str
    """Name of the section that contains the image, or ``embedded module``."""


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
    """Names of the libraries that the library is linked to (``DT_NEEDED``)."""
    runpath: tuple[str, ...] = ()
    functions: tuple[FunctionReport, ...] = ()
    symbols: tuple[SymbolReport, ...] = ()
    undefined: tuple[str, ...] | None = None
    """Undefined symbols outside the ABI that no linked library defines; weak symbols are excluded.

    The loading process must define them.  None if this is unknown, because a linked library is not
    found or the library is for another machine.
    """
    era: EraReport = field(default_factory=EraReport)
    modules: tuple[ModuleReport, ...] = ()
    """Embedded modules; loading the library returns the first one."""
    device_code: tuple[DeviceCodeReport, ...] = ()
    floors: dict[str, str] = field(default_factory=dict)
    """Minimum versions of system libraries that the library requires.

    The keys are symbol families, such as ``GLIBC``, ``GLIBCXX`` and ``CXXABI``.
    """
    problems: tuple[str, ...] = ()
    """Reasons why the installed runtime cannot load the library; empty if it can load it."""

    @property
    def is_served(self) -> bool:
        """True if the installed runtime can load the library, so that `problems` is empty."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON serializable dict."""
        return {"format": _FORMAT, **dataclasses.asdict(self), "is_served": self.is_served}
