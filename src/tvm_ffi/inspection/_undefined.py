# SPDX-License-Identifier: Apache-2.0
"""Search for symbols that a library needs and that none of its linked libraries defines."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from .. import libinfo
from .._library.elf import LibraryFileError, open_image

__all__ = ["undefined_symbols"]

_MAX_LIBRARIES = 1000


def undefined_symbols(
    names: Iterable[str], path: str, needed: Iterable[str], runpath: Iterable[str]
) -> tuple[str, ...] | None:
    """Return the names that no linked library defines, also not one that they link to, sorted.

    Returns None if a linked library is not found or cannot be read.

    Parameters
    ----------
    names : iterable of str
        The undefined symbols of a library.
    path, needed, runpath
        Path of the library file, its ``DT_NEEDED`` and its ``DT_RUNPATH``.
    """
    missing = set(names)
    seen: set[str] = set()
    waiting = [(name, _folders(path, runpath)) for name in needed]
    while missing and waiting:
        name, folders = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        found = _find(name, folders)
        if found is None or len(seen) > _MAX_LIBRARIES:
            return None
        try:
            with open_image(found) as image:
                missing -= {symbol.name for symbol in image.symbols() if symbol.is_defined}
                links = image.dynamic_texts()
        except (OSError, LibraryFileError):
            return None
        # A loader uses the DT_RUNPATH of a library for its direct dependencies only; the older
        # DT_RPATH, which `links` does not tell apart, also for the others.
        inner = [*_folders(found, links["runpath"]), *folders]
        waiting += [(other, inner) for other in links["needed"]]
    return tuple(sorted(missing))


def _folders(path: str, runpath: Iterable[str]) -> list[str]:
    """Return the folders of a library's ``DT_RUNPATH``."""
    origin = str(Path(path).resolve().parent)
    folders = (folder for entry in runpath for folder in entry.split(":") if folder)
    return [
        folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
        for folder in dict.fromkeys(folders)
    ]


def _find(name: str, folders: Iterable[str]) -> str | None:
    """Return the path of the library that a loader finds for a name; None if there is none."""
    runtime = libinfo.find_libtvm_ffi()
    if Path(runtime).name == name:
        return runtime
    if "/" in name:  # a loader would open this path; a name in an untrusted file is not followed
        return None
    multiarch = sysconfig.get_config_var("MULTIARCH")
    system = ["/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib"]
    if multiarch:
        system[:0] = [f"/lib/{multiarch}", f"/usr/lib/{multiarch}"]
    listed = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    for folder in dict.fromkeys([*folders, *filter(None, listed), *system]):
        candidate = Path(folder, name)
        if candidate.is_file():
            return str(candidate)
    return None
