# SPDX-License-Identifier: Apache-2.0
"""Freshness: the files that a build has read, and the check that they are unchanged.

The user's headers are always compared by content.  Installed headers (hundreds for one C++ file)
and very large files are compared by content once per machine, and afterwards by their identity (see
`file_identity`).

A new file in a folder that the compiler searches first would be read instead of a known header.
Therefore the existing files that could shadow a header are recorded and compared as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Callable, NamedTuple

from ._files import content_digest, existing_files, file_identity
from ._recipe import Recipe, Step, package_include_paths

__all__ = [
    "Dependencies",
    "changed_files",
    "collect_dependencies",
    "combined_identity",
    "parse_depfile",
    "shadowing_files",
]

# Files above this size are not hashed in each lookup: hashing would take longer than loading.
_LARGE_BYTES = 1 << 24
# Parents of folders into which package managers install headers and libraries.
_INSTALLED = ("/usr/", "/opt/", "/lib/", "/nix/store/", "/gnu/store/")

_DEPFILE_WORD = re.compile(r"(?:\\\n|\\.|\$\$|[^\s\\]|\\)+")


class Dependencies(NamedTuple):
    """The files that a build has read, other than its sources.

    Manifests contain them as portable text, see `_portable`; all other code uses paths.
    """

    own: dict[str, str]
    """Digest of each file that the user may edit, by path; always compared by content."""
    installed: dict[str, str]
    """Digest of each installed or very large file, by path."""
    folders: list[str]
    """Folders in which a new header would be read instead of one of these files."""
    shadows: list[str]
    """Existing files in `folders` that the compiler could read instead of one of these files."""

    def digest(self, key: str) -> str:
        """Return a hash, in hexadecimal, of a cache key and of these dependencies."""
        known = sorted(self.own.items()), sorted(self.installed.items())
        text = repr((key, known, self.shadows))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def converted(self, convert: Callable[[str], str]) -> Dependencies:
        """Return these dependencies with other text for the paths: portable text or paths."""
        return Dependencies(
            {convert(path): digest for path, digest in self.own.items()},
            {convert(path): digest for path, digest in self.installed.items()},
            sorted(map(convert, self.folders)),
            sorted(map(convert, self.shadows)),
        )


def collect_dependencies(
    recipe: Recipe, folder: Path, precompiled: Dependencies | None = None
) -> Dependencies:
    """Return the files that the compilers and the linker of a build have read.

    Parameters
    ----------
    recipe : Recipe
        The recipe that was built.
    folder : path
        The build folder; files in it are generated, and are not dependencies.
    precompiled : Dependencies, optional
        Dependencies of the precompiled headers that the build used; their digests are not computed
        again.
    """
    own: dict[str, str] = {} if precompiled is None else {**precompiled.own}
    installed: dict[str, str] = {} if precompiled is None else {**precompiled.installed}
    precompiled_paths = {*own, *installed}
    headers = [*precompiled_paths, *_headers(recipe.steps, folder)]
    for path in dict.fromkeys((*headers, *existing_files(recipe.linked))):
        if path in precompiled_paths:
            continue
        is_installed = _is_below(path, (*_INSTALLED, *package_include_paths())) or _is_large(path)
        is_users = not is_installed or _is_below(path, recipe.user_folders)
        (own if is_users else installed)[path] = content_digest(path)
    beside = {os.path.dirname(path) for path in headers if path in own}  # noqa: PTH120
    folders = sorted({*recipe.user_folders, *beside})
    return Dependencies(own, installed, folders, shadowing_files([*own, *installed], folders))


def _headers(steps: Iterable[Step], folder: Path) -> list[str]:
    """Return the headers that the steps' depfiles list outside of the build folder."""
    inside = (f"{folder}/", f"{os.path.realpath(folder)}/")
    found: dict[str, None] = {}
    for step in steps:
        if step.depfile:
            try:
                content = (folder / step.depfile).read_bytes()
            except FileNotFoundError:
                command = shlex.join(step.command)
                text = f"the command wrote no list of headers; is it a compiler? {command}"
                raise RuntimeError(text) from None
            for name in parse_depfile(os.fsdecode(content)):
                path = os.path.join(folder, name)  # noqa: PTH118  (pathlib would remove "..")
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
    """Return the files that a depfile lists; a depfile contains one rule in the syntax of make."""
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


def shadowing_files(paths: Iterable[str], folders: Sequence[str]) -> list[str]:
    """Return the existing files in `folders` that an ``#include`` of one of `paths` could find.

    A header ``/a/b/c.h`` may have been included as ``c.h`` or ``b/c.h``, so every suffix of its
    path is looked up in every folder.  Listing the folders first excludes most suffixes, because
    no folder contains their first component.
    """
    folders_with: dict[str, list[str]] = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder):  # noqa: PTH208
                folders_with.setdefault(entry, []).append(folder)
    found = set()
    for path in paths if folders_with else ():
        parts = path.split("/")
        for index in range(1, len(parts)):
            for folder in folders_with.get(parts[index], ()):
                candidate = "/".join([folder, *parts[index:]])
                if os.path.isfile(candidate):  # noqa: PTH113
                    found.add(candidate)
    return sorted(found)


def combined_identity(paths: Iterable[str]) -> str:
    """Return a short hash of the inodes, sizes and change times of the given files."""
    text = "\n".join(f"{path} {file_identity(path)}" for path in sorted(paths))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def changed_files(known: dict[str, str]) -> list[str]:
    """Return the paths of files whose content differs from the recorded digest."""
    return [path for path, digest in known.items() if content_digest(path) != digest]
