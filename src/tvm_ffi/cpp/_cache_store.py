# SPDX-License-Identifier: Apache-2.0
"""Build cache on disk: the folders of finished builds and their manifests.

    ROOT/NAME_<16 hex>/            an artifact: the product, its sources, manifest.json
    ROOT/.index/NAME_<16 hex>/     by recipe: a mark (an empty file) for each artifact of a
                                   recipe, and notes (empty files, too) about the recipe
    ROOT/.staging/NAME_<16 hex>.*  private folders of unfinished builds (see `_staging`)
    ROOT/.locks/NAME_<16 hex>.lock held by the only process that builds a recipe
    ROOT/.compilers/               cached versions of compilers

One rename publishes an artifact, which never changes afterwards, so readers take no lock.  The
lock only prevents that two processes build the same product; on file systems without locks, both
publish it.  Only the owner may read or write the cache:
folders have mode 0700 and files 0600 under any umask.  docs/design/build-cache.md has the reasons.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .._internal.regular_file import read_regular
from ._files import content_digest, file_lock
from ._freshness import Dependencies, changed_files, combined_identity, shadowing_files
from ._key import CacheKey, Input, key_of
from ._permissions import check_cache_root, check_entry, check_folder, make_private_folder
from ._portable import Portable
from ._request import MANIFEST_FILE
from ._staging import has_ended, is_old, staging_name

__all__ = [
    "FOLDER_NAME",
    "BuildCache",
    "CacheEntry",
    "Manifest",
    "cache_layers",
    "cache_root",
    "checked_cache",
    "is_file_name",
    "remove_private",
    "warn_of_damage",
]

_FORMAT = 3  # format version of the JSON object in a manifest file
_MAX_MANIFEST_BYTES = 1 << 26  # maximum size of a manifest file; a list of about 500,000 files fits
_MAX_NUMBER = 1 << 62
_MAX_NAME_BYTES = 255  # maximum length of a file name in common file systems
FOLDER_NAME = re.compile(r"(.+)_[0-9a-f]{16}", re.DOTALL)
_KEY = re.compile(r"[0-9a-f]{64}")

_CHECKED_FOLDERS = (".index", ".staging", ".locks", ".compilers")
_DAY_SECONDS = 86400.0
# A file that changed less than this time ago may change again without getting a new change time.
_SETTLED_SECONDS = 2.0
_MAX_RENAMES = 10  # maximum number of attempts to publish where other processes publish, too
_UNSETTLED = "0" * 16
# Limit of the marks per recipe.  A mark is an empty file whose name identifies an artifact (a
# finished build); each edited header adds a mark, and a lookup examines all marks.
_MAX_MARKS = 32
# Errors of locking a file on a file system, or a kernel, that has no locks.
_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)


# ---- Root folder ---------------------------------------------------------------------------------


def cache_root() -> Path:
    """Return the folder of the cache to which builds write.

    It is the first folder in ``TVM_FFI_CACHE_PATH``, ``TVM_FFI_CACHE_DIR`` or
    ``~/.cache/tvm-ffi``: the first of them that is not empty.
    """
    first = os.environ.get("TVM_FFI_CACHE_PATH", "").partition(os.pathsep)[0]
    value = first or os.environ.get("TVM_FFI_CACHE_DIR")
    if value:
        return Path(value).absolute()
    try:
        home = Path.home()
    except RuntimeError as error:
        remedy = "set TVM_FFI_CACHE_DIR to a folder that only you can write to, or set HOME"
        raise RuntimeError(
            f"cannot determine the folder of the build cache: {error} {remedy}"
        ) from None
    return home.absolute() / ".cache" / "tvm-ffi"


def cache_layers() -> tuple[Path, ...]:
    """Return the folders after the first one in ``TVM_FFI_CACHE_PATH``, which are only read."""
    _, *layers = os.environ.get("TVM_FFI_CACHE_PATH", "").split(os.pathsep)
    return tuple(Path(layer).absolute() for layer in dict.fromkeys(layers) if layer)


def checked_cache() -> BuildCache:
    """Return the cache; raise PermissionError if another user may write to one of its folders."""
    cache = BuildCache(cache_root(), cache_layers())
    cache.check()
    return cache


# ---- Manifests -----------------------------------------------------------------------------------


class Manifest(NamedTuple):
    """The JSON file of an artifact: the inputs of the build, and the digest of its product.

    The field names are the keys of the JSON object.
    """

    name: str
    product: str
    """File name of the library or object file."""
    size_bytes: int
    """Size of the product in bytes."""
    content: str
    """SHA-256 of the product, see `content_digest`."""
    base: str
    """Cache key of the recipe."""
    parts: dict[str, Input]
    """The inputs of the recipe, whose hash is the cache key."""
    dependencies: Dependencies
    """The files that the build has read, as portable text."""
    folders: dict[str, str]
    """The folder of each mark in portable text when the library was built; only for messages."""
    created: float
    """Time of the build in seconds since 1970; shown to users, never compared."""
    build_seconds: float
    reasons: list[str]
    """Sentences that explain why the artifact was built."""

    def to_json(self) -> str:
        """Return the content of the manifest file."""
        content = {**self._asdict(), "dependencies": self.dependencies._asdict()}
        return json.dumps({"format": _FORMAT, **content}, indent=1)

    @staticmethod
    def read(folder: Path) -> Manifest | None:
        """Return the manifest of an artifact; None if it is missing, damaged or of another format.

        A manifest whose name differs from that of the artifact's folder counts as damaged, because
        the name determines the path of the index folder, which `prune` removes.
        """
        match = FOLDER_NAME.fullmatch(folder.name)
        if match is None:
            return None
        try:
            content = json.loads(read_regular(folder / MANIFEST_FILE, _MAX_MANIFEST_BYTES))
            if content.pop("format") != _FORMAT:
                return None
            dependencies = Dependencies(**content.pop("dependencies"))
            manifest = Manifest(**content, dependencies=dependencies)
            return manifest if _is_valid(manifest) and manifest.name == match[1] else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    @staticmethod
    def is_of_another_version(folder: Path) -> bool:
        """Return True if an artifact has a manifest of another format, which is no damage."""
        try:
            content = json.loads(read_regular(folder / MANIFEST_FILE, _MAX_MANIFEST_BYTES))
            return isinstance(content["format"], int) and content["format"] != _FORMAT
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return False

    def artifact_digest(self) -> str:
        """Return the 16 hexadecimal digits in the name of the artifact's folder."""
        return self.dependencies.digest(self.base)[:16]

    def is_whole(self, folder: Path) -> bool:
        """Return True if the product exists and its digest equals the digest in this manifest."""
        try:
            is_same_size = self.has_recorded_size(folder)
            return is_same_size and content_digest(folder / self.product) == self.content
        except OSError:
            return False

    def has_recorded_size(self, folder: Path) -> bool:
        """Return True if the product exists and its size equals the size in this manifest."""
        try:
            return (folder / self.product).stat().st_size == self.size_bytes
        except OSError:
            return False


def _is_valid(manifest: Manifest) -> bool:
    """Return True if every value has its declared type; values in a damaged file may not."""
    files = manifest.dependencies
    return (
        all(map(_is_text, (manifest.name, manifest.product, manifest.content, manifest.base)))
        and is_file_name(manifest.product)
        and _KEY.fullmatch(manifest.base) is not None
        and all(map(_is_number, (manifest.size_bytes, manifest.created, manifest.build_seconds)))
        and all(map(_is_list_of_text, (manifest.reasons, files.folders, files.shadows)))
        and all(
            isinstance(table, dict) and all(map(_is_text, table.values()))
            for table in (files.own, files.installed, manifest.folders)
        )
        and isinstance(manifest.parts, dict)
        and all(_is_text(value) or _is_list_of_text(value) for value in manifest.parts.values())
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and 0 <= value < _MAX_NUMBER  # excludes NaN


def is_file_name(text: str) -> bool:
    if text in ("", ".", "..", MANIFEST_FILE) or {"/", "\0"} & {*text}:
        return False
    try:
        return len(os.fsencode(text)) <= _MAX_NAME_BYTES
    except UnicodeEncodeError:
        return False


# ---- Build cache and its entries -----------------------------------------------------------------


class BuildCache:
    """The build cache in one root folder, with the folders that are searched after it."""

    def __init__(self, root: Path, layers: Sequence[Path] = ()) -> None:
        self.root = root
        self.roots = (root, *layers)
        self.staging_root = root / ".staging"
        self.compilers_folder = root / ".compilers"

    def check(self) -> None:
        """Raise PermissionError if another user owns the cache or may write to it."""
        for root in self.roots:
            check_cache_root(root)
            for name in _CHECKED_FOLDERS:
                check_folder(root / name)

    def newest(self, name: str, limit: int) -> Iterator[Manifest]:
        """Return the manifests of the `limit` newest artifacts of a name, newest first."""
        folders = (
            root / folder for root in self.roots for folder in _names_by_age(root, f"{name}_")
        )
        manifests = map(Manifest.read, folders)
        named = (manifest for manifest in manifests if manifest and manifest.name == name)
        return itertools.islice(named, limit)

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder or file by renaming it first, so that no reader sees it half removed."""
        make_private_folder(self.staging_root)
        trash = self.staging_root / staging_name("removed")
        with contextlib.suppress(FileNotFoundError):
            folder.rename(trash)
        remove_private(trash)

    def abandoned_folders(self) -> Iterator[Path]:
        """Yield the staging folders of ended processes, and those that are a day old."""
        with contextlib.suppress(FileNotFoundError):
            for folder in sorted(self.staging_root.iterdir()):
                if has_ended(folder.name) or is_old(folder):
                    yield folder


class CacheEntry(NamedTuple):
    """The part of the build cache for one recipe: its artifacts, index folder and lock file."""

    cache: BuildCache
    name: str
    key: CacheKey
    product: str
    """File name of the library or object file."""
    portable: Portable
    """The folders of the recipe, to which paths in manifests refer."""

    @property
    def _stem(self) -> str:
        return f"{self.name}_{self.key.recipe[:16]}"

    @property
    def _index(self) -> Path:
        return self.cache.root / ".index" / self._stem

    # ---- Lookup of artifacts -----------------------------------------------------------------

    def find(self, is_whole: Callable[[Manifest, Path], bool] = Manifest.is_whole) -> Path | None:
        """Return the product's path in an artifact with unchanged inputs; None if there is none.

        `is_whole` checks the product.  A caller that passes a check without a digest must compare
        the product's digest before it publishes an output that was built with the product.
        """
        marks = [mark for root in self.cache.roots for mark in self._marks(root)]
        for digest in dict.fromkeys(mark[:16] for mark in marks):
            for root in self.cache.roots:
                folder = self._artifact(digest, root)
                manifest = _checked_manifest(folder)
                if manifest is None or not self._matches(manifest):
                    continue
                if is_whole(manifest, folder) and self._is_fresh(manifest, digest, marks):
                    if root == self.cache.root:
                        _touch_daily(folder / MANIFEST_FILE)
                    return folder / manifest.product
        return None

    def _marks(self, root: Path) -> list[str]:
        """Return the names of the marks in a root folder of the cache, newest first."""
        index = root / ".index" / self._stem
        return _names_by_age(index) if check_entry(index) else []

    def _artifact(self, digest: str, root: Path) -> Path:
        return root / f"{self.name}_{digest}"

    def _matches(self, manifest: Manifest) -> bool:
        """Return True if an artifact has this recipe, and these compilers if there are any here."""
        if manifest.product != self.product:
            return False
        if self.key.has_compilers:
            return manifest.base == self.key.digest
        return key_of(manifest.name, manifest.parts).recipe == self.key.recipe

    def _is_fresh(self, manifest: Manifest, digest: str, marks: list[str]) -> bool:
        """Return True if the files that the build has read are unchanged and can be read."""
        try:
            known = manifest.dependencies.converted(self.portable.actual)
            if changed_files(known.own):
                return False
            if shadowing_files([*known.own, *known.installed], known.folders) != known.shadows:
                return False
            installed = known.installed if self.key.has_compilers else self._compared(manifest)
            if f"{digest}-{combined_identity(installed)}" in marks:
                return True
            if changed_files(installed):
                return False
        except (OSError, ValueError):
            # A header was replaced by a folder, or a damaged manifest contains an invalid path.
            return False
        self._add_mark(digest, installed)
        return True

    def _compared(self, manifest: Manifest) -> dict[str, str]:
        """Return the installed files to compare, by path.

        Without a compiler, its headers and those of the system are missing, too: nothing could be
        built with others.  The headers of this package are compared.
        """
        return {
            self.portable.actual(path): digest
            for path, digest in manifest.dependencies.installed.items()
            if self.key.has_compilers or self.portable.is_inside(path)
        }

    # ---- Index folder of a recipe ------------------------------------------------------------

    def _add_mark(self, digest: str, installed: dict[str, str] | None) -> None:
        """Record in the recipe's index that an artifact is fresh with these installed files.

        The record is an empty file.  Its name contains a hash of the inodes and change times of the
        installed files, so that a later lookup need not read unchanged files.  None means
        that the files were not compared.
        """
        is_known = installed is not None and _are_settled(installed)
        identity = combined_identity(installed or ()) if is_known else _UNSETTLED
        index = self._index
        with contextlib.suppress(OSError):  # the cache may be read-only
            _make_index(index)
            (index / f"{digest}-{identity}").touch(mode=0o600)
            for mark in _names_by_age(index)[_MAX_MARKS:]:
                (index / mark).unlink()

    def forget(self, digest: str) -> None:
        """Remove all records of an artifact from the recipe's index folder."""
        with contextlib.suppress(OSError):
            for mark in self._index.iterdir():
                if mark.name.startswith(digest):
                    mark.unlink()
            self._index.rmdir()

    def add_note(self, note: str) -> None:
        """Record a note, such as "unusable", as an empty file in the index folder of the recipe."""
        with contextlib.suppress(OSError):  # the cache may be read-only
            _make_index(self._index)
            (self._index / note).touch(mode=0o600)

    def has_note(self, note: str, max_age_s: float = math.inf) -> bool:
        """Return True if the note with this name was recorded in the last `max_age_s` seconds."""
        try:
            recorded = (self._index / note).stat().st_mtime
        except OSError:
            return False
        # Use abs(), because the difference is negative if the clock was set back.
        return abs(time.time() - recorded) <= max_age_s

    # ---- Lock, staging folder and publication ------------------------------------------------

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of this recipe, which a process must hold while it builds the recipe.

        The block runs without a lock if the file system has no locks.
        """
        path = self.cache.root / ".locks" / f"{self._stem}.lock"
        make_private_folder(path.parent)
        check_entry(path)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(file_lock(path, 0o600))
            except OSError as error:
                if error.errno not in _WITHOUT_LOCKS:
                    raise
            yield

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """Create a private folder to build in, and remove it at the end of the block.

        The folders that ended processes left for this recipe are removed first.
        """
        staging_root = self.cache.staging_root
        make_private_folder(staging_root)
        for folder in staging_root.iterdir():
            if folder.name.startswith(f"{self._stem}.") and has_ended(folder.name):
                remove_private(folder)
        folder = staging_root / staging_name(self._stem)
        make_private_folder(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, staging: Path, manifest: Manifest) -> Path:
        """Rename a staging folder to the artifact's folder; return the path of the product.

        Nothing is flushed to the disk.  After a crash of the machine, a product may be incomplete;
        its digest then differs from the manifest, and it is built again.
        """
        (staging / MANIFEST_FILE).write_text(manifest.to_json(), encoding="utf-8")
        for path in staging.iterdir():
            path.chmod(0o600)  # files are not executable: the loader needs no execute permission
        path = self.adopt(staging, manifest)
        self._add_mark(manifest.artifact_digest(), self._compared(manifest))
        return path

    def adopt(self, staging: Path, manifest: Manifest) -> Path:
        """Rename a staging folder that contains a whole artifact; return the product's path.

        The first lookup compares all files that the build has read with those of this machine.
        """
        digest = manifest.artifact_digest()
        target = self._artifact(digest, self.cache.root)
        self._rename(staging, target, manifest.dependencies)
        self._add_mark(digest, None)
        return target / manifest.product

    def _rename(self, staging: Path, target: Path, dependencies: Dependencies) -> None:
        """Rename a staging folder to `target`, unless an intact, equal artifact exists there."""
        for _ in range(_MAX_RENAMES):
            try:
                staging.rename(target)
                return
            except OSError:
                if not target.exists():
                    raise
            present = _checked_manifest(target)
            if present is not None and self._matches(present):
                if not present.is_whole(target):
                    warn_of_damage(target / present.product, "built again")
                elif present.dependencies == dependencies:
                    return  # keep the equal artifact: a process may have loaded it
            self.cache.remove_folder(target)
        raise RuntimeError(f"other processes replace {target} all the time")


def _checked_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of an artifact; raise PermissionError if another user may write to it."""
    if not (check_entry(folder) and check_entry(folder / MANIFEST_FILE)):
        return None
    manifest = Manifest.read(folder)
    if manifest is not None:
        check_entry(folder / manifest.product)
    return manifest


def warn_of_damage(product: Path, remedy: str) -> None:
    """Log a warning that a product was changed after its build; it is removed or built again."""
    import logging

    text = "%s was %s: its content differs from the digest in its manifest"
    logging.getLogger("tvm_ffi.cpp").warning(text, product, remedy)


def _names_by_age(folder: Path, prefix: str = "") -> list[str]:
    """Return the file names in a folder that start with a prefix, newest file first."""
    entries = []
    absent = contextlib.suppress(FileNotFoundError, NotADirectoryError)
    with absent, os.scandir(folder) as found:
        for entry in found:
            if entry.name.startswith(prefix):
                # If another process has removed the entry, continue with the next one.
                with contextlib.suppress(FileNotFoundError):
                    entries.append((-entry.stat(follow_symlinks=False).st_mtime, entry.name))
    return [name for _, name in sorted(entries)]


def _make_index(index: Path) -> None:
    """Create the index folder of a recipe; first remove a file that exists at this path."""
    if index.is_file():
        index.unlink()
    make_private_folder(index)


def remove_private(path: Path) -> None:
    """Remove a folder or file that no other process uses; ignore errors."""
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        path.unlink()


def _touch_daily(manifest: Path) -> None:
    """Record the last use of an artifact, with a resolution of one day, for `prune`."""
    with contextlib.suppress(OSError):
        if time.time() - manifest.stat().st_mtime > _DAY_SECONDS:
            os.utime(manifest)


def _are_settled(paths: dict[str, str]) -> bool:
    """Return True if no file has changed in the last `_SETTLED_SECONDS`."""
    newest = 0.0
    for path in paths:
        with contextlib.suppress(OSError):
            newest = max(newest, os.stat(path).st_ctime)  # noqa: PTH116
    return newest < time.time() - _SETTLED_SECONDS
