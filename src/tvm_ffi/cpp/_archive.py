# SPDX-License-Identifier: Apache-2.0
"""Archives of the build cache: finished builds in one file, for other machines.

An archive is a ZIP file with the files of each artifact, ``NAME_<16 hex>/FILE``.  Reading one is
safe for any bytes: names are compared with the names that artifacts have, sizes are limited, and a
build is published only if its manifest and the digest of its product are right.  The libraries are
code, so the archive must come from a source that the user trusts.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ._cache_store import FOLDER_NAME, BuildCache, CacheEntry, Manifest, is_file_name
from ._key import key_of
from ._permissions import check_entry
from ._portable import Portable
from ._request import MANIFEST_FILE

__all__ = ["problems", "read_archive", "write_archive"]

_MAX_FILES = 1_000_000
_MAX_BYTES = 1 << 36  # of all files of an archive
_BLOCK_BYTES = 1 << 20
_TIME = (1980, 1, 1, 0, 0, 0)  # equal builds give equal archives


def _problem(folder: Path, manifest: Manifest | None) -> str:
    """Return why an artifact is damaged, or an empty string if it is whole."""
    if manifest is None:
        return f"{MANIFEST_FILE} is missing or damaged"
    if key_of(manifest.name, manifest.parts).digest != manifest.base:
        return "the key in the manifest is not that of its inputs"
    if not folder.name.endswith(f"_{manifest.artifact_digest()}"):
        return "the name of the folder is not that of its inputs"
    if not manifest.is_whole(folder):
        return f"{manifest.product} is missing, or its content differs from its digest"
    return ""


def write_archive(file: Path, folders: Iterable[Path]) -> None:
    """Write the artifacts in these folders to an archive, under a temporary name first.

    Raises
    ------
    ValueError
        If an artifact is damaged.
    OSError
        If a file cannot be read, or the archive cannot be written.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for folder in sorted(folders, key=lambda path: path.name):
                problem = _problem(folder, Manifest.read(folder))
                if problem:
                    raise ValueError(
                        f"{folder} cannot be exported: {problem}; remove it with `tvm-ffi cache "
                        "prune` or build it again"
                    )
                for path in sorted(folder.iterdir()):
                    info = zipfile.ZipInfo(f"{folder.name}/{path.name}", _TIME)
                    info.compress_type = zipfile.ZIP_DEFLATED
                    info.external_attr = 0o600 << 16
                    with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as to:
                        while block := source.read(_BLOCK_BYTES):
                            to.write(block)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def read_archive(file: Path, cache: BuildCache) -> list[Path]:
    """Add the builds of an archive to a cache; return their folders in the cache.

    A build that the cache contains already is kept.  Builds before the first damaged one are added.

    Raises
    ------
    ValueError
        If the file is not an archive of this package, or is damaged.
    OSError
        If the file cannot be read, or the cache cannot be written.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            builds = _builds(archive)
            return [_add(archive, name, files, cache) for name, files in builds.items()]
    except _DAMAGES as error:
        raise ValueError(f"{file} cannot be imported: {error}") from None
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # A damaged archive contains a negative position.
        raise ValueError(f"{file} cannot be imported: {error}") from None


class _ArchiveError(Exception):
    """Error: an archive has content that no cache has."""


# Exceptions of `zipfile` for damaged archives, and `_ArchiveError`.
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    UnicodeDecodeError,
    struct.error,
    _ArchiveError,
)


def _builds(archive: zipfile.ZipFile) -> dict[str, list[zipfile.ZipInfo]]:
    """Return the files of each build by the name of its folder; check all names and sizes."""
    entries = archive.infolist()
    size = sum(entry.file_size for entry in entries)
    if len(entries) > _MAX_FILES or size > _MAX_BYTES:
        raise _ArchiveError(
            f"expected at most {_MAX_FILES} files with {_MAX_BYTES} bytes, got {len(entries)} "
            f"files with {size} bytes"
        )
    builds: dict[str, list[zipfile.ZipInfo]] = {}
    seen = set()
    for entry in entries:
        folder, slash, name = entry.filename.partition("/")
        is_build = FOLDER_NAME.fullmatch(folder) is not None and not folder.startswith(".")
        is_file = name == MANIFEST_FILE or is_file_name(name)
        if not (slash and is_build and is_file_name(folder) and is_file):
            raise _ArchiveError(f"expected files of builds, got the name {entry.filename!r}")
        if entry.filename in seen:
            raise _ArchiveError(f"the archive contains {entry.filename!r} twice")
        seen.add(entry.filename)
        builds.setdefault(folder, []).append(entry)
    return builds


def _add(
    archive: zipfile.ZipFile, name: str, files: list[zipfile.ZipInfo], cache: BuildCache
) -> Path:
    """Publish one build in the cache."""
    stem = FOLDER_NAME.fullmatch(name)
    assert stem is not None
    with _staging(cache, stem[1], name) as folder:
        for entry in files:
            _extract(archive, entry, folder / entry.filename.partition("/")[2])
        manifest = Manifest.read(folder)
        problem = _problem(folder, manifest)
        if problem or manifest is None:
            raise _ArchiveError(f"{name} is damaged: {problem}")
        key = key_of(manifest.name, manifest.parts)
        entry_of_cache = CacheEntry(cache, manifest.name, key, manifest.product, Portable({}, ()))
        return entry_of_cache.adopt(folder, manifest).parent


@contextlib.contextmanager
def _staging(cache: BuildCache, stem: str, name: str) -> Iterator[Path]:
    """Create a private folder with the name of an artifact, below a staging folder."""
    with CacheEntry(cache, stem, key_of(stem, {}), "", Portable({}, ())).staging() as outer:
        folder = outer / name
        folder.mkdir(mode=0o700)
        yield folder


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> None:
    """Write a file of an archive; its checksum is compared at the end."""
    remaining = entry.file_size
    path.touch(mode=0o600, exist_ok=False)
    with archive.open(entry) as source, path.open("wb") as target:
        while block := source.read(_BLOCK_BYTES):
            remaining -= len(block)
            if remaining < 0:
                raise _ArchiveError(f"{entry.filename} is longer than the archive says")
            target.write(block)
    if remaining:
        raise _ArchiveError(f"{entry.filename} is shorter than the archive says")


def problems(cache: BuildCache) -> Iterator[tuple[Path, str]]:
    """Yield each artifact of a cache and of its layers with its problem, empty if it is whole."""
    for root in cache.roots:
        for folder in sorted(root.iterdir()) if root.is_dir() else ():
            match = FOLDER_NAME.fullmatch(folder.name)
            if match is None or folder.name.startswith("."):
                continue
            try:
                for path in (folder, *folder.iterdir()):
                    check_entry(path)
                manifest = Manifest.read(folder)
                if manifest is None and Manifest.is_of_another_version(folder):
                    continue
                problem = _problem(folder, manifest)
            except OSError as error:
                manifest, problem = None, str(error)
            if manifest is not None and not problem:
                key = key_of(manifest.name, manifest.parts)
                index = root / ".index" / f"{manifest.name}_{key.recipe[:16]}"
                if not any(index.glob(f"{manifest.artifact_digest()}-*")):
                    problem = f"lookups do not find it, because {index} has no mark for it"
            yield folder, problem
