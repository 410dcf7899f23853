# SPDX-License-Identifier: Apache-2.0
"""Build cache management: list, explain and remove the finished builds of `tvm_ffi.cpp`.

The cache is the folder ``$TVM_FFI_CACHE_DIR`` or ``~/.cache/tvm-ffi``.  The parameter `root` of
each function selects another folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ._cache_store import BuildCache, CacheEntry, Manifest, cache_root, remove_private
from ._key import CacheKey
from ._request import MANIFEST_FILE

__all__ = ["Artifact", "explain", "find", "prune", "root_folder"]

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
    """

    name: str
    path: Path
    size_bytes: int
    created: float
    last_used: float
    build_seconds: float
    reasons: tuple[str, ...]


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
    found = [artifact for artifact, _ in _artifacts(_root(root)) if name in (None, artifact.name)]
    return sorted(found, key=lambda artifact: -artifact.created)


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
    artifacts = find(name, root=root)
    if not artifacts:
        raise LookupError(f"the cache {_root(root)} contains no build named {name!r}")
    return list(artifacts[0].reasons)


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
            key = CacheKey(manifest.base, manifest.parts)
            entry = CacheEntry(build_cache, artifact.name, key, manifest.product)
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
        )
        yield artifact, manifest
