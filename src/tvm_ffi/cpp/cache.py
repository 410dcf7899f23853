# SPDX-License-Identifier: Apache-2.0
"""What `tvm_ffi.cpp` keeps: a list, an explanation, and a way to remove it.

The cache is the folder ``$TVM_FFI_CACHE_DIR`` or ``~/.cache/tvm-ffi``.  All functions take another
one as `root`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ._manifest import FILE, Manifest
from ._store import Store, cache_root, remove_private

__all__ = ["Artifact", "explain", "find", "prune", "root_folder"]

_DAY_SECONDS = 86400.0


@dataclass(frozen=True)
class Artifact:
    """Something that was built.

    Attributes
    ----------
    name : str
        The name it was built under.
    path : pathlib.Path
        The product.
    size_bytes : int
        Size of all its files.
    created, last_used : float
        Seconds since 1970; the latter to a day.
    build_seconds : float
        How long it took.
    reasons : tuple of str
        Why it was built: what is different from the artifact of this name that is most like it.
    """

    name: str
    path: Path
    size_bytes: int
    created: float
    last_used: float
    build_seconds: float
    reasons: tuple[str, ...]


def root_folder() -> Path:
    """Return the folder of the cache, whether it exists or not."""
    return cache_root()


def find(name: str | None = None, *, root: str | os.PathLike[str] | None = None) -> list[Artifact]:
    """Return what is in the cache, the newest first.

    Parameters
    ----------
    name : str, optional
        Only what was built under this name.
    root : path, optional
        Folder of the cache.
    """
    found = [artifact for artifact, _ in _artifacts(_root(root)) if name in (None, artifact.name)]
    return sorted(found, key=lambda artifact: -artifact.created)


def explain(name: str, *, root: str | os.PathLike[str] | None = None) -> list[str]:
    """Return why the newest artifact of a name was built, a sentence for each reason.

    Parameters
    ----------
    name : str
        The name it was built under.
    root : path, optional
        Folder of the cache.

    Raises
    ------
    LookupError
        If nothing of this name is in the cache.
    """
    artifacts = find(name, root=root)
    if not artifacts:
        raise LookupError(f"nothing named {name!r} is in the cache {_root(root)}")
    return list(artifacts[0].reasons)


def prune(
    *,
    names: Sequence[str] | None = None,
    unused_days: float | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
    root: str | os.PathLike[str] | None = None,
) -> list[Artifact]:
    """Remove what is not needed, and what builders that died left behind.

    Parameters
    ----------
    names : sequence of str, optional
        Consider only what was built under these names.
    unused_days : float, optional
        Remove what was not used for so many days; 0 removes all.
    max_bytes : int, optional
        Of the rest, remove what was not used for the longest time, until so much is left.
    dry_run : bool
        Remove nothing.
    root : path, optional
        Folder of the cache.

    Returns
    -------
    list of Artifact
        What was removed, or would be.

    Notes
    -----
    Libraries that are loaded stay usable: the system keeps a removed file until it is unmapped.  It
    is safe while other processes build: they build again what they miss.
    """
    store = Store(_root(root))
    store.check()
    considered = [
        found for found in _artifacts(store.root) if names is None or found[0].name in names
    ]
    chosen = _unneeded(considered, unused_days, max_bytes)
    if not dry_run:
        for artifact, manifest in chosen:
            store.remove_marks(artifact.name, manifest.base, artifact.path.parent.name[-16:])
            store.remove_folder(artifact.path.parent)
        for folder in store.abandoned():
            remove_private(folder)
    return [artifact for artifact, _ in chosen]


def _unneeded(
    found: list[tuple[Artifact, Manifest]], unused_days: float | None, max_bytes: int | None
) -> list[tuple[Artifact, Manifest]]:
    chosen: list[tuple[Artifact, Manifest]] = []
    kept: list[tuple[Artifact, Manifest]] = []
    now = time.time()
    for pair in sorted(found, key=lambda pair: pair[0].last_used):
        unused = max(now - pair[0].last_used, 0)  # on a server, the clock may be another one
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
    """Return all artifacts; a folder may disappear while it is looked at."""
    for folder in root.iterdir() if root.is_dir() else ():
        manifest = Manifest.read(folder)
        if manifest is None:
            continue
        try:
            status = (folder / FILE).stat()
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
