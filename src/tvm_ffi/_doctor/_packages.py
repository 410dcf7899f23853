# SPDX-License-Identifier: Apache-2.0
"""Findings about installed packages: the runtime, libraries that need it, and requirements."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from .. import libinfo
from .._internal.conflict import INCUMBENT, REMEDY
from .._internal.platform import LIBRARY_PREFIX, LIBRARY_SUFFIXES
from .._library.elf import LibraryFileError, open_image
from .._version import __version__
from ..inspection import LibraryReport, inspect_library
from ._finding import Finding

__all__ = ["InstalledLibrary", "examine_packages", "examine_requirements", "our_libraries"]

_DISTRIBUTION = "pytvmffi"
_RUNTIME = f"{LIBRARY_PREFIX}tvm_ffi"
# Text in the names that a library with this ABI defines or needs.
_MARKS = (b"TVMFFI", b"__tvm_ffi_", b"3tvm3ffi")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class InstalledLibrary(NamedTuple):
    """A library of an installed distribution that uses the ABI of the runtime."""

    distribution: str
    path: Path
    report: LibraryReport | None
    """None if the file cannot be read."""
    problem: str = ""
    """Why the file cannot be read."""


def our_libraries() -> Iterator[InstalledLibrary]:
    """Yield the libraries of other distributions that define or need symbols of the ABI."""
    for distribution in _distributions():
        name = distribution.metadata["Name"]
        if _normal(name) == _DISTRIBUTION:
            continue
        for path in _library_files(distribution):
            try:
                if not _uses_abi(path):
                    continue
                yield InstalledLibrary(name, path, inspect_library(path))
            except (LibraryFileError, OSError) as error:
                if path.name.startswith(_RUNTIME):
                    yield InstalledLibrary(name, path, None, str(error))


def _distributions() -> Iterator[metadata.Distribution]:
    """Yield the installed distributions that imports find, by name."""
    found: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"] if distribution.metadata else None
        if name:
            found.setdefault(_normal(name), distribution)
    yield from (found[name] for name in sorted(found))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _library_files(distribution: metadata.Distribution) -> Iterator[Path]:
    for file in distribution.files or ():
        if any(f"{suffix}." in f"{file.name}." for suffix in LIBRARY_SUFFIXES):
            path = Path(str(distribution.locate_file(file)))
            if path.is_file():
                yield path


def _uses_abi(path: Path) -> bool:
    """Return True if a name in the table of dynamic symbols belongs to the ABI."""
    with open_image(path) as image:
        section = image.section(".dynstr")
        if section is None:
            return False
        names = image.bytes_of(section)
        return any(mark in names for mark in _MARKS)


# ---- Runtime and libraries -----------------------------------------------------------------------


def examine_packages(libraries: Iterable[InstalledLibrary]) -> Iterator[Finding]:
    """Yield findings about the runtime, its copies, and the libraries of other packages."""
    runtime = libinfo.find_libtvm_ffi()
    yield Finding("runtime", "ok", runtime, f"{_DISTRIBUTION} {__version__}")
    for library in libraries:
        subject = f"{library.distribution}: {library.path}"
        if _is_copy(library):
            yield Finding(
                "runtime",
                "problem",
                subject,
                "a second copy of the runtime: a process that loads it has two type tables, and "
                "objects of one are foreign to the other",
                f"remove the file, or the distribution: pip uninstall {library.distribution}",
            )
        elif library.report is None:
            yield Finding("libraries", "problem", subject, library.problem)
        else:
            yield from _library(subject, library.report)


def _is_copy(library: InstalledLibrary) -> bool:
    """Return True for a library that defines the runtime, which no other package should."""
    if library.report is None:
        return library.path.name.startswith(f"{_RUNTIME}.")
    soname = library.report.soname or library.path.name
    return soname.startswith(f"{_RUNTIME}.")


def _library(subject: str, report: LibraryReport) -> Iterator[Finding]:
    era = report.era
    floor = era.declared or era.at_least
    built = f"built against {floor or 'any release'}"
    if not report.is_served:
        missing = [symbol.readable_name for symbol in report.symbols if not symbol.is_provided]
        more = f"; missing symbols: {', '.join(missing)}" if missing else ""
        message = f"{built}; the runtime cannot load it: {'; '.join(report.problems)}{more}"
        yield Finding("libraries", "problem", subject, message, "install a version for this ABI")
        return
    yield Finding("libraries", "ok", subject, f"{built}, {len(report.functions)} functions")
    if report.undefined:
        message = f"no linked library defines {', '.join(report.undefined[:5])}"
        yield Finding("libraries", "note", subject, message)


# ---- Requirements --------------------------------------------------------------------------------


def examine_requirements() -> Iterator[Finding]:
    """Yield findings about packages that require the incumbent, and the result of pip check."""
    provided = next((d for d in _distributions() if _normal(d.metadata["Name"]) == INCUMBENT), None)
    if provided is not None and not _is_alias(provided):
        yield Finding(
            "requirements",
            "problem",
            f"{INCUMBENT} {provided.version}",
            f"installed beside {_DISTRIBUTION}; their files overwrite each other's",
            REMEDY,
        )
    for distribution in _distributions():
        for requirement in distribution.requires or ():
            match = _NAME.match(requirement)
            if match is None or _normal(match[0]) != INCUMBENT or "extra ==" in requirement:
                continue
            subject = f"{distribution.metadata['Name']} {distribution.version}"
            yield _requirement(subject, requirement, provided)
    yield from _pip_check()


def _is_alias(distribution: metadata.Distribution) -> bool:
    requires = [_normal(text) for text in distribution.requires or ()]
    return any(text.startswith(_DISTRIBUTION) for text in requires)


def _requirement(subject: str, requirement: str, provided: metadata.Distribution | None) -> Finding:
    if provided is None:
        message = f"requires {requirement}, which is not provided"
        return Finding("requirements", "problem", subject, message, f"tvm-ffi provide {INCUMBENT}")
    is_allowed = _allows(requirement, provided.version)
    message = f"requires {requirement}, {provided.version} is provided"
    if is_allowed is False:
        remedy = f"tvm-ffi provide {INCUMBENT} --version V, with a version that it accepts"
        return Finding("requirements", "problem", subject, message, remedy)
    return Finding("requirements", "ok" if is_allowed else "note", subject, message)


def _allows(requirement: str, version: str) -> bool | None:
    """Return True if a requirement accepts a version; None without the package packaging."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return None
    return bool(Requirement(requirement).specifier.contains(version, prereleases=True))


def _pip_check() -> Iterator[Finding]:
    if all(_normal(d.metadata["Name"]) != "pip" for d in _distributions()):
        yield Finding("requirements", "note", "pip check", "pip is not installed here")
        return
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "check"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        yield Finding("requirements", "note", "pip check", f"could not run: {error}")
        return
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode == 0:
        yield Finding("requirements", "ok", "pip check", lines[0] if lines else "no problem")
    for line in lines if done.returncode != 0 else ():
        yield Finding("requirements", "problem", "pip check", line)
