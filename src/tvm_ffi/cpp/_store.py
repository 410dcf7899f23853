# SPDX-License-Identifier: Apache-2.0
"""The folder that keeps what was built, for many processes on many machines.

    ROOT/NAME_<16 hex>/            an artifact: the product, its sources, manifest.json
    ROOT/.index/NAME_<16 hex>/     by the key of a plan: one mark for each artifact made from it,
                                   and words that were noted about it
    ROOT/.staging/NAME_<16 hex>.*  private folders of builds that are under way
    ROOT/.locks/NAME_<16 hex>.lock held by the one process that builds from this plan
    ROOT/.compilers/               versions of compilers

An artifact appears by one rename, whole, and never changes.  Readers take no lock.  A folder in
`.staging` belongs to the holder of the lock: whoever gets the lock may remove what others left.
All of it is the caller's alone: folders have mode 0700 and files 0600, whatever the umask is.
docs/design/build-cache.md has the reasons.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ._dependencies import changed_files, identity_of_all, shadows
from ._files import lock_of
from ._manifest import FILE as MANIFEST_FILE
from ._manifest import Manifest, folder_name
from ._trust import check_cache, check_entry, check_folder, private_folder

if TYPE_CHECKING:
    from ..utils import FileLock

__all__ = ["Store", "cache_root", "checked_root", "remove_private", "warn_of_damage"]

_FOLDERS = (".index", ".staging", ".locks", ".compilers")
_DAY_SECONDS = 86400.0
# A file that was changed this recently could change again without a new time of change.
_SETTLED_SECONDS = 2.0
_UNSETTLED = "0" * 16
# Somebody who edits a header leaves an artifact each time; looking at all of them takes long.
_MOST_MARKS = 32


def cache_root() -> Path:
    """Return the root of the cache: ``TVM_FFI_CACHE_DIR`` or ``~/.cache/tvm-ffi``."""
    value = os.environ.get("TVM_FFI_CACHE_DIR")
    if value:
        return Path(value).absolute()
    try:
        home = Path.home()
    except RuntimeError as error:
        remedy = "set TVM_FFI_CACHE_DIR to a folder of your own, or HOME"
        raise RuntimeError(f"there is no folder for the cache: {error} {remedy}") from None
    return home.absolute() / ".cache" / "tvm-ffi"


def checked_root() -> Path:
    """Return the root of the cache; refuse one that others own or may write to."""
    root = cache_root()
    Store(root).check()
    return root


class Store:
    """The artifacts below one root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.staging_root = root / ".staging"

    def check(self) -> None:
        """Refuse a cache that others own or may write to, with PermissionError."""
        check_cache(self.root)
        for name in _FOLDERS:
            check_folder(self.root / name)

    # ---- Finding -----------------------------------------------------------------------------

    def find(
        self,
        name: str,
        base: str,
        product: str,
        is_whole: Callable[[Manifest, Path], bool] = Manifest.is_whole,
    ) -> Path | None:
        """Return the product that a plan makes of the files of today; None if it is not here.

        Who compares less than `Manifest.is_whole` compares the rest before the product matters.
        """
        index = self._index(name, base)
        marks = _by_age(index) if check_entry(index) else []
        for digest in dict.fromkeys(mark[:16] for mark in marks):
            folder = self.root / folder_name(name, digest)
            manifest = _trusted_manifest(folder)
            if manifest is None or not manifest.is_of_plan(base, product):
                continue
            if not is_whole(manifest, folder):
                continue
            if self._is_current(manifest, digest, index, marks):
                _note_use(folder)
                return folder / manifest.product
        return None

    def _is_current(self, manifest: Manifest, digest: str, index: Path, marks: list[str]) -> bool:
        """Whether all that the artifact was made from is as it was, as far as it can be read.

        A header may have become a folder, and a damaged manifest names what no file is called.
        """
        try:
            return self._is_same(manifest, digest, index, marks)
        except (OSError, ValueError):
            return False

    def _is_same(self, manifest: Manifest, digest: str, index: Path, marks: list[str]) -> bool:
        known = manifest.dependencies
        if changed_files(known.own):
            return False
        if shadows([*known.own, *known.installed], known.folders) != known.shadows:
            return False
        if f"{digest}-{identity_of_all(known.installed)}" in marks:
            return True
        if changed_files(known.installed):
            return False
        self._mark(index, digest, manifest)
        return True

    def _index(self, name: str, base: str) -> Path:
        return self.root / ".index" / f"{name}_{base[:16]}"

    def _mark(self, index: Path, digest: str, manifest: Manifest) -> None:
        """Note that an artifact is made from a plan, and of which installed files."""
        installed = manifest.dependencies.installed
        identity = identity_of_all(installed) if _are_settled(installed) else _UNSETTLED
        with contextlib.suppress(OSError):  # a cache that cannot be written can be read
            _make_index(index)
            (index / f"{digest}-{identity}").touch(mode=0o600)
            for mark in _by_age(index)[_MOST_MARKS:]:
                (index / mark).unlink()

    def note(self, name: str, base: str, word: str) -> None:
        """Note a word about a plan."""
        index = self._index(name, base)
        with contextlib.suppress(OSError):  # as above
            _make_index(index)
            (index / word).touch(mode=0o600)

    def has_note(self, name: str, base: str, word: str, newest_s: float = math.inf) -> bool:
        """Whether a word was noted about a plan, not longer than `newest_s` seconds ago."""
        try:
            noted = (self._index(name, base) / word).stat().st_mtime
        except OSError:
            return False
        return abs(time.time() - noted) <= newest_s  # clocks may be put back

    # ---- Building ----------------------------------------------------------------------------

    def lock(self, name: str, base: str) -> FileLock:
        """Return the lock, a context manager, under which a plan is carried out."""
        return _file_lock(self.root / ".locks" / f"{name}_{base[:16]}.lock")

    @contextlib.contextmanager
    def staging(self, name: str, base: str) -> Iterator[Path]:
        """Give a private folder to build in; the caller holds the lock.

        It is gone afterwards, and so are those of builders that died.
        """
        stem = f"{name}_{base[:16]}."
        private_folder(self.staging_root)
        for left in self.staging_root.iterdir():
            if left.name.startswith(stem):
                remove_private(left)
        folder = self.staging_root / f"{stem}{os.getpid()}.{os.urandom(4).hex()}"
        private_folder(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, staging: Path, manifest: Manifest) -> Path:
        """Let everybody see what was built; return the product.

        Nothing waits for the disk.  What a crash of the machine leaves out is missed by the digest,
        and built again.
        """
        digest = manifest.dependencies.digest(manifest.base)[:16]
        target = self.root / folder_name(manifest.name, digest)
        (staging / MANIFEST_FILE).write_text(manifest.to_json(), encoding="utf-8")
        for path in staging.iterdir():
            path.chmod(0o600)  # libraries are mapped, not executed: they need no more
        self._rename(staging, target, manifest)
        self._mark(self._index(manifest.name, manifest.base), digest, manifest)
        return target / manifest.product

    def _rename(self, staging: Path, target: Path, manifest: Manifest) -> None:
        try:
            staging.rename(target)
            return
        except OSError:
            if not target.exists():
                raise
        there = _trusted_manifest(target)
        if there is not None and there.is_of_plan(manifest.base, manifest.product):
            if not there.is_whole(target):
                warn_of_damage(target / there.product, "built again")
            elif there.dependencies == manifest.dependencies:
                return  # as good as ours, and perhaps loaded
        self.remove_folder(target)
        staging.rename(target)

    def newest(self, name: str, most: int) -> Iterator[Manifest]:
        """Return the manifests of artifacts of one name, those that were built last."""
        folders = _by_age(self.root, f"{name}_")
        found = (Manifest.read(self.root / folder) for folder in folders)
        wanted = (manifest for manifest in found if manifest and manifest.name == name)
        return itertools.islice(wanted, most)

    # ---- Removing ----------------------------------------------------------------------------

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder, or a file in its place, so that nobody sees half of it."""
        private_folder(self.staging_root)
        trash = self.staging_root / f"removed.{os.getpid()}.{os.urandom(4).hex()}"
        with contextlib.suppress(FileNotFoundError):
            folder.rename(trash)
        remove_private(trash)

    def remove_marks(self, name: str, base: str, digest: str) -> None:
        """Forget that an artifact is made from a plan."""
        index = self._index(name, base)
        with contextlib.suppress(OSError):
            for mark in index.iterdir():
                if mark.name.startswith(digest):
                    mark.unlink()
            index.rmdir()

    def abandoned(self) -> Iterator[Path]:
        """Return the folders of builders that died; each only while nobody can build there."""
        with contextlib.suppress(FileNotFoundError):
            for folder in sorted(self.staging_root.iterdir()):
                lock = _file_lock(self.root / ".locks" / f"{folder.name.rsplit('.', 2)[0]}.lock")
                if lock.acquire():
                    try:
                        yield folder
                    finally:
                        lock.release()


def _trusted_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of an artifact; refuse one that others own or may write to."""
    if not (check_entry(folder) and check_entry(folder / MANIFEST_FILE)):
        return None
    manifest = Manifest.read(folder)
    if manifest is not None:
        check_entry(folder / manifest.product)
    return manifest


def warn_of_damage(product: Path, remedy: str) -> None:
    """Log that a product is damaged, and what was done with it."""
    import logging

    text = "%s was %s: its content was not what had been built"
    logging.getLogger("tvm_ffi.cpp").warning(text, product, remedy)


def _by_age(folder: Path, begin: str = "") -> list[str]:
    """Return the names in a folder that begin like this, the newest first: the most likely ones."""
    entries = []
    absent = contextlib.suppress(FileNotFoundError, NotADirectoryError)
    with absent, os.scandir(folder) as found:
        for entry in found:
            if entry.name.startswith(begin):
                with contextlib.suppress(FileNotFoundError):  # of this one alone
                    entries.append((-entry.stat(follow_symlinks=False).st_mtime, entry.name))
    return [name for _, name in sorted(entries)]


def _file_lock(path: Path) -> FileLock:
    private_folder(path.parent)
    check_entry(path)
    return lock_of(path, 0o600)


def _make_index(index: Path) -> None:
    """Make the folder for the marks of a plan; one that was damaged is made anew."""
    if index.is_file():
        index.unlink()
    private_folder(index)


def remove_private(path: Path) -> None:
    """Remove a folder, or a file in its place, that nobody else uses; what cannot go stays."""
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        path.unlink()


def _note_use(folder: Path) -> None:
    """Remember, to a day, when an artifact was used last; nothing but pruning looks at it."""
    manifest = folder / MANIFEST_FILE
    with contextlib.suppress(OSError):
        if time.time() - manifest.stat().st_mtime > _DAY_SECONDS:
            os.utime(manifest)


def _are_settled(paths: dict[str, str]) -> bool:
    newest = 0.0
    for path in paths:
        with contextlib.suppress(OSError):
            newest = max(newest, os.stat(path).st_ctime)  # noqa: PTH116
    return newest < time.time() - _SETTLED_SECONDS
