# SPDX-License-Identifier: Apache-2.0
"""Files of the build cache: digests, identities (inode and change time), locks, atomic writes."""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from .._internal.regular_file import open_regular
from ._permissions import make_private_folder

if TYPE_CHECKING:
    from ..utils import FileLock

__all__ = [
    "content_digest",
    "existing_files",
    "file_identity",
    "file_lock",
    "has_content",
    "text_digest",
    "write_atomically",
    "write_if_changed",
]

_MISSING = "missing"
_BLOCK_BYTES = 1 << 16  # bytes per read; a buffer for a whole file takes long to allocate


def text_digest(text: str) -> str:
    """Return the SHA-256 of a string."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()}"


def content_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of the content of a file, or "missing".

    Raises
    ------
    OSError
        If the file exists but cannot be read, or is not a regular file.
    """
    try:
        digest = hashlib.sha256()
        with open_regular(path) as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
        return f"sha256:{digest.hexdigest()}"
    except (FileNotFoundError, NotADirectoryError):
        return _MISSING


def file_identity(path: str | os.PathLike[str]) -> str:
    """Return the device, inode, size and change time (ctime) of a file, or "missing".

    A program can set the modification time of a file, but not its change time.  On one machine,
    equal identities therefore mean equal contents.
    """
    try:
        status = os.stat(path)  # noqa: PTH116  (os.stat is faster than pathlib)
    except (FileNotFoundError, NotADirectoryError):
        return _MISSING
    return f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_ctime_ns}"


def existing_files(paths: Iterable[str]) -> list[str]:
    """Return the paths at which a file exists, without duplicates."""
    return [path for path in dict.fromkeys(paths) if os.path.isfile(path)]  # noqa: PTH113


def write_atomically(path: Path, text: str) -> None:
    """Write a private file of the build cache under a temporary name, then rename it."""
    make_private_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_if_changed(path: Path, content: str | bytes) -> None:
    """Write a file unless it has this content already.

    An unchanged file keeps its modification time, so ninja does not rebuild its outputs.  A new
    file has mode 0644 at most: only the owner may write to it.
    """
    if has_content(path, content):
        return
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), "wb") as file:  # noqa: PTH123
        file.write(_encoded(content))


def has_content(path: Path, content: str | bytes) -> bool:
    """Return True if a file exists and has this content."""
    try:
        return path.read_bytes() == _encoded(content)
    except FileNotFoundError:
        return False


def _encoded(content: str | bytes) -> bytes:
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content


def file_lock(path: Path, mode: int) -> FileLock:
    """Return a lock (a context manager) on a lock file; create the file with mode `mode`.

    Raises
    ------
    IsADirectoryError
        If the path is a folder.
    """
    from ..utils import FileLock

    if path.is_dir():
        remedy = f"expected a lock file; remove the folder with `rm -rf {shlex.quote(str(path))}`"
        raise IsADirectoryError(errno.EISDIR, f"{os.strerror(errno.EISDIR)}; {remedy}", str(path))
    path.touch(mode=mode)
    return FileLock(path)
