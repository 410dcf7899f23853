# SPDX-License-Identifier: Apache-2.0
"""Which files a build has read, and whether they are still what they were.

The user's headers are compared by content, always.  Headers of installed packages, hundreds for one
C++ file, and very large files are compared by content once for every machine, and afterwards by
their identity: inode, size and time of change, which no program can set.

A file that appears where the compiler looks first would be read instead of a known one.  So the key
also knows which such files exist.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ._files import content_of, identity_of
from ._plan import Plan

__all__ = [
    "Dependencies",
    "changed_files",
    "collect",
    "identity_of_all",
    "parse_depfile",
    "shadows",
]

# Reading more than this takes longer than a library takes to load.
_LARGE_BYTES = 1 << 24
# Where headers and libraries are put by installing something.
_INSTALLED = ("/usr/", "/opt/", "/lib/", "/nix/store/", "/gnu/store/")

_DEPFILE_WORD = re.compile(r"(?:\\\n|\\.|\$\$|[^\s\\]|\\)+")


class Dependencies(NamedTuple):
    """The files that a build has read besides those that the plan names."""

    own: dict[str, str]
    """Content of each file that is likely to change, by path."""
    installed: dict[str, str]
    """Content of each file that is not, or is large, by path."""
    folders: list[str]
    """Where the user may put a header that is then read instead of one of these."""
    shadows: list[str]
    """Files in there that have the name of one of these, or are one of these."""

    def digest(self, base: str) -> str:
        """Return a name for all of it together with the key of a plan."""
        known = sorted(self.own.items()), sorted(self.installed.items())
        text = repr((base, known, self.shadows))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def collect(
    plan: Plan, folder: Path, installed: Sequence[str], precompiled: Dependencies | None = None
) -> Dependencies:
    """Return what the commands of a build have read.

    Parameters
    ----------
    plan : Plan
        What was built.
    folder : path
        The build folder; what is in there is known already.
    installed : sequence of str
        Folders with headers that are unlikely to change, besides the system's.
    precompiled : Dependencies, optional
        Of headers that were read before: with the content that they had then.
    """
    own: dict[str, str] = {} if precompiled is None else {**precompiled.own}
    others: dict[str, str] = {} if precompiled is None else {**precompiled.installed}
    known_before = {*own, *others}
    headers = [*known_before, *_headers(plan, folder)]
    for path in dict.fromkeys((*headers, *plan.linked)):
        if path in known_before:
            continue
        is_installed = _is_below(path, (*_INSTALLED, *installed)) or _is_large(path)
        known = others if is_installed and not _is_below(path, plan.own_folders) else own
        known[path] = content_of(path)
    beside = {os.path.dirname(path) for path in headers if path in own}  # noqa: PTH120
    folders = sorted({*plan.own_folders, *beside})
    return Dependencies(own, others, folders, shadows([*own, *others], folders))


def _headers(plan: Plan, folder: Path) -> list[str]:
    """Return what the compilers have read outside of the build folder, each file once."""
    inside = (f"{folder}/", f"{os.path.realpath(folder)}/")
    found: dict[str, None] = {}
    for step in plan.steps:
        if step.depfile:
            for name in parse_depfile(os.fsdecode((folder / step.depfile).read_bytes())):
                path = os.path.join(folder, name)  # noqa: PTH118  (".." must stay, for links)
                if path != os.devnull and (not path.startswith(inside) or "/../" in path):
                    found[path] = None
    return list(found)


def _is_large(path: str) -> bool:
    try:
        return os.stat(path).st_size > _LARGE_BYTES  # noqa: PTH116
    except OSError:
        return False


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(folder.rstrip("/") + "/") for folder in folders)


def parse_depfile(text: str) -> list[str]:
    """Return the files that a rule for make depends on."""
    words = _DEPFILE_WORD.findall(text.replace("\\\n", " "))
    names: list[str] = []
    is_target = True
    for word in words:
        if is_target:
            is_target = not word.endswith(":")
        else:
            names.append(_unescaped(word))
    return names


def _unescaped(word: str) -> str:
    return re.sub(r"\\([ #\\:])", r"\1", word).replace("$$", "$")


def shadows(paths: Iterable[str], folders: Sequence[str]) -> list[str]:
    """Return the existing files that could be meant by the name of one of `paths`.

    A header ``/a/b/c.h`` may have been included as ``c.h`` or ``b/c.h``; each such name is looked
    up in each folder of the user's, where all of these but few do not even have the first folder.
    """
    places: dict[str, list[str]] = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder):  # noqa: PTH208
                places.setdefault(entry, []).append(folder)
    found = set()
    for path in paths if places else ():
        parts = path.split("/")
        for index in range(1, len(parts)):
            for folder in places.get(parts[index], ()):
                candidate = "/".join([folder, *parts[index:]])
                if os.path.isfile(candidate):  # noqa: PTH113
                    found.add(candidate)
    return sorted(found)


def identity_of_all(paths: Iterable[str]) -> str:
    """Return a short name for the identities of files on this machine."""
    text = "\n".join(f"{path} {identity_of(path)}" for path in sorted(paths))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def changed_files(known: dict[str, str]) -> list[str]:
    """Return the files whose content is another one now."""
    return [path for path, content in known.items() if content_of(path) != content]
