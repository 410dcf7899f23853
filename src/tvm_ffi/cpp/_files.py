# SPDX-License-Identifier: Apache-2.0
"""What files contain, and writing them so that nobody sees half of one."""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from .._internal.regular_file import open_regular
from ._trust import private_folder

if TYPE_CHECKING:
    from ..utils import FileLock

__all__ = [
    "content_of",
    "identity_of",
    "lock_of",
    "text_digest",
    "write_atomically",
    "write_if_changed",
]

_MISSING = "missing"
_BLOCK_BYTES = 1 << 16  # memory for a whole file takes as long to get as to hash it


def text_digest(text: str) -> str:
    """Return a name for a text, the same for equal texts only."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()}"


def content_of(path: str | os.PathLike[str]) -> str:
    """Return a name for the content of a file, the same for equal contents only.

    A file that is there and cannot be read is an OSError.
    """
    try:
        digest = hashlib.sha256()
        with open_regular(path) as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
        return f"sha256:{digest.hexdigest()}"
    except (FileNotFoundError, NotADirectoryError):
        return _MISSING


def identity_of(path: str | os.PathLike[str]) -> str:
    """Return what tells a file from all others and from itself before it was changed.

    Programs can set the time of modification, but neither the inode nor the time of change.
    """
    try:
        status = os.stat(path)  # noqa: PTH116  (as above)
    except (FileNotFoundError, NotADirectoryError):
        return _MISSING
    return f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_ctime_ns}"


def write_atomically(path: Path, text: str) -> None:
    """Write a file of the cache under another name and give it this one."""
    private_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_if_changed(path: Path, content: str | bytes) -> None:
    """Write a file unless it has this content; what is built from it stays up to date.

    A new one is the caller's to write, whatever the umask is.
    """
    new = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    try:
        if path.read_bytes() == new:
            return
    except FileNotFoundError:
        pass
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), "wb") as file:  # noqa: PTH123
        file.write(new)


def lock_of(path: Path, mode: int) -> FileLock:
    """Return the lock, a context manager, that a file stands for; a new one gets a mode.

    Raises
    ------
    IsADirectoryError
        If there is a folder in its place.
    """
    from ..utils import FileLock

    if path.is_dir():
        remedy = f"`rm -rf {shlex.quote(str(path))}`, it is a file for a lock"
        raise IsADirectoryError(errno.EISDIR, f"{os.strerror(errno.EISDIR)}; {remedy}", str(path))
    path.touch(mode=mode)
    return FileLock(path)
