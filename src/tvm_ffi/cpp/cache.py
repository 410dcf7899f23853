# SPDX-License-Identifier: Apache-2.0
"""Build cache management: list, explain, move, verify and remove builds of `tvm_ffi.cpp`.

The cache is the folder ``$TVM_FFI_CACHE_DIR`` or ``~/.cache/tvm-ffi``, or the folders in
``$TVM_FFI_CACHE_PATH``: builds are written to the first of them, and the others are only read.  The
parameter `root` of each function selects another folder.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ._archive import problems, read_archive, write_archive
from ._cache_store import (
    BuildCache,
    CacheEntry,
    Manifest,
    cache_layers,
    cache_root,
    remove_private,
)
from ._key import Input, key_of
from ._portable import Portable
from ._reasons import stale_reasons
from ._recipe import PRECOMPILED_NAME
from ._request import MANIFEST_FILE

__all__ = [
    "Artifact",
    "changes",
    "explain",
    "export_archive",
    "find",
    "import_archive",
    "prune",
    "root_folder",
    "verify",
]

_DAY_SECONDS = 86400.0


@dataclass(frozen=True)
class Artifact:
    """A finished build in the cache.

    Attributes
    ----------
    name : str
        The `name` argument of the build.
    path : pathlib.Path
        Path of the product: a library or an object file.
    size_bytes : int
        Total size of all files of the build.
    created, last_used : float
        Times in seconds since 1970; `last_used` has a resolution of one day.
    build_seconds : float
        Duration of the build.
    reasons : tuple of str
        Sentences that explain why the library was built: the differences from the most similar
        earlier build of this name.
    key : str
        Hash of the inputs of the build, without headers.
    is_read_only : bool
        True if the build is in a folder that is only read.
    """

    name: str
    path: Path
    size_bytes: int
    created: float
    last_used: float
    build_seconds: float
    reasons: tuple[str, ...]
    key: str
    is_read_only: bool = False


def root_folder() -> Path:
    """Return the default folder of the cache, which may not exist yet."""
    return cache_root()


def find(name: str | None = None, *, root: str | os.PathLike[str] | None = None) -> list[Artifact]:
    """Return the finished builds in the cache, the newest first.

    Parameters
    ----------
    name : str, optional
        Return only the builds of this name.
    root : path, optional
        Folder of the cache; default: `root_folder`.
    """
    return [artifact for artifact, _ in _found(name, root)]


def _found(
    name: str | None, root: str | os.PathLike[str] | None
) -> list[tuple[Artifact, Manifest]]:
    """Return the builds in the cache and its layers with their manifests, the newest first."""
    pairs = (pair for folder in _cache(root).roots for pair in _artifacts(folder))
    found = [
        (dataclasses.replace(artifact, is_read_only=True), manifest)
        if artifact.path.parents[1] != _root(root)
        else (artifact, manifest)
        for artifact, manifest in pairs
        if name in (None, artifact.name)
    ]
    return sorted(found, key=lambda pair: -pair[0].created)


def explain(name: str, *, root: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the reasons why the newest build of a name was necessary.

    Parameters
    ----------
    name : str
        The `name` argument of the build.
    root : path, optional
        Folder of the cache; default: `root_folder`.

    Returns
    -------
    list of str
        One sentence for each reason.

    Raises
    ------
    LookupError
        If the cache contains no build of this name.
    """
    return list(_newest(name, root)[0].reasons)


def changes(name: str, *, root: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the differences between the files that the newest build of a name has read and now.

    Parameters
    ----------
    name : str
        The `name` argument of the build.
    root : path, optional
        Folder of the cache; default: `root_folder`.

    Returns
    -------
    list of str
        One sentence for each file; empty if the build is used again by a call with equal arguments.

    Raises
    ------
    LookupError
        If the cache contains no build of this name.

    Notes
    -----
    Folders of this package and of the user are those of the machine that has built the library.
    """
    return inputs_and_changes(name, root=root)[1]


def inputs_and_changes(
    name: str, *, root: str | os.PathLike[str] | None = None
) -> tuple[dict[str, Input], list[str]]:
    """Return the inputs of the newest build of a name, and `changes`."""
    _, manifest = _newest(name, root)
    return manifest.parts, stale_reasons(manifest, Portable(manifest.folders, ()).actual)


def _newest(name: str, root: str | os.PathLike[str] | None) -> tuple[Artifact, Manifest]:
    found = _found(name, root)
    if not found:
        raise LookupError(f"the cache {_root(root)} contains no build named {name!r}")
    return found[0]


def export_archive(
    file: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    *,
    root: str | os.PathLike[str] | None = None,
) -> list[Artifact]:
    """Write finished builds to one file, from which another machine imports them.

    Parameters
    ----------
    file : path
        The archive to write, a ZIP file.
    names : sequence of str, optional
        Export only the builds of these names.  By default all builds are exported, except
        precompiled headers, which serve on this machine only.
    root : path, optional
        Folder of the cache; default: `root_folder` and its read-only folders.

    Returns
    -------
    list of Artifact
        The exported builds.

    Raises
    ------
    LookupError
        If the cache contains no build of one of the names, or no build at all.
    ValueError
        If a build is damaged.
    OSError
        If the archive cannot be written.
    """
    builds = [artifact for artifact in find(root=root) if artifact.name != PRECOMPILED_NAME]
    known = {artifact.name for artifact in builds}
    missing = [name for name in names or () if name not in known]
    if missing or not builds:
        named = f" named {missing[0]!r}" if missing else ""
        raise LookupError(f"the cache {_root(root)} contains no build{named}")
    chosen = {
        artifact.path.parent.name: artifact
        for artifact in builds
        if names is None or artifact.name in names
    }
    write_archive(Path(file), [artifact.path.parent for artifact in chosen.values()])
    return list(chosen.values())


def import_archive(
    file: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
    is_readable: bool = False,
) -> list[Artifact]:
    """Add the builds of an archive to a cache.

    Parameters
    ----------
    file : path
        The archive.  It contains libraries, which are code: import only archives from sources that
        you trust.
    root : path, optional
        Folder of the cache; default: `root_folder`.  It is created if it does not exist.
    is_readable : bool
        True to let all users read the folder, so that it can be a read-only folder in the
        ``TVM_FFI_CACHE_PATH`` of another user.  Only the owner may write to it.

    Returns
    -------
    list of Artifact
        The builds in the archive.

    Raises
    ------
    ValueError
        If the file is not an archive of a build cache, or is damaged.  Nothing of a damaged build
        is added.
    OSError
        If the file cannot be read, or the cache cannot be written.
    """
    cache = BuildCache(_root(root).absolute())
    cache.check()
    folders = {*read_archive(Path(file), cache)}
    if is_readable:
        for path in (cache.root, *cache.root.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    return [artifact for artifact in find(root=cache.root) if artifact.path.parent in folders]


def verify(*, root: str | os.PathLike[str] | None = None) -> dict[Path, str]:
    """Compare each build with its manifest.

    Parameters
    ----------
    root : path, optional
        Folder of the cache; default: `root_folder` and its read-only folders.

    Returns
    -------
    dict of path to str
        The problem of each build by its folder; an empty string for a whole build.

    Raises
    ------
    PermissionError
        If another user may write to a folder of the cache.
    """
    cache = _cache(root)
    cache.check()
    return dict(problems(cache))


def prune(
    *,
    names: Sequence[str] | None = None,
    unused_days: float | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
    root: str | os.PathLike[str] | None = None,
) -> list[Artifact]:
    """Remove unused builds from the cache, and the folders that killed builds have left.

    Parameters
    ----------
    names : sequence of str, optional
        Consider only the builds of these names.
    unused_days : float, optional
        Remove builds that were not used for this number of days; 0 removes all builds.
    max_bytes : int, optional
        Remove the least recently used of the remaining builds until their total size is at most
        this number of bytes.
    dry_run : bool
        True to remove nothing, but return the builds that would be removed.
    root : path, optional
        Folder of the cache; default: `root_folder`.

    Returns
    -------
    list of Artifact
        The builds that were removed.

    Raises
    ------
    ValueError
        If `unused_days` or `max_bytes` is negative or NaN.

    Notes
    -----
    Loaded libraries stay usable: the operating system keeps a removed file until it is unmapped.
    Other processes may build during the call: they build a removed library again.
    """
    for name, number in (("unused_days", unused_days), ("max_bytes", max_bytes)):
        if number is not None and not number >= 0:  # excludes NaN
            raise ValueError(f"{name}: expected a number of at least 0, got {number}")
    build_cache = BuildCache(_root(root))
    build_cache.check()
    considered = [
        found for found in _artifacts(build_cache.root) if names is None or found[0].name in names
    ]
    chosen = _unneeded(considered, unused_days, max_bytes)
    if not dry_run:
        for artifact, manifest in chosen:
            key = key_of(manifest.name, manifest.parts)
            portable = Portable({}, ())
            entry = CacheEntry(build_cache, artifact.name, key, manifest.product, portable)
            entry.forget(artifact.path.parent.name[-16:])
            build_cache.remove_folder(artifact.path.parent)
        for folder in build_cache.abandoned_folders():
            remove_private(folder)
    return [artifact for artifact, _ in chosen]


def _unneeded(
    found: list[tuple[Artifact, Manifest]], unused_days: float | None, max_bytes: int | None
) -> list[tuple[Artifact, Manifest]]:
    """Return the builds to remove, the least recently used first."""
    chosen: list[tuple[Artifact, Manifest]] = []
    kept: list[tuple[Artifact, Manifest]] = []
    now = time.time()
    for pair in sorted(found, key=lambda pair: pair[0].last_used):
        # The time of last use may come from a file server, whose clock may be ahead.
        unused = max(now - pair[0].last_used, 0)
        is_old = unused_days is not None and unused >= unused_days * _DAY_SECONDS
        (chosen if is_old else kept).append(pair)
    total = sum(artifact.size_bytes for artifact, _ in kept)
    while max_bytes is not None and kept and total > max_bytes:
        chosen.append(kept.pop(0))
        total -= chosen[-1][0].size_bytes
    return chosen


def _cache(root: str | os.PathLike[str] | None) -> BuildCache:
    """Return the cache in a folder, or the cache of this process with its layers."""
    return BuildCache(_root(root), cache_layers() if root is None else ())


def _root(root: str | os.PathLike[str] | None) -> Path:
    return cache_root() if root is None else Path(root)


def _artifacts(root: Path) -> Iterator[tuple[Artifact, Manifest]]:
    """Yield all builds with their manifests; skip a folder that another process removes."""
    for folder in root.iterdir() if root.is_dir() else ():
        manifest = Manifest.read(folder)
        if manifest is None:
            continue
        try:
            status = (folder / MANIFEST_FILE).stat()
            size = sum(path.stat().st_size for path in folder.iterdir())
        except OSError:
            continue
        artifact = Artifact(
            name=manifest.name,
            path=folder / manifest.product,
            size_bytes=size,
            created=manifest.created,
            last_used=status.st_mtime,
            build_seconds=manifest.build_seconds,
            reasons=tuple(manifest.reasons),
            key=manifest.base,
        )
        yield artifact, manifest
