# SPDX-License-Identifier: Apache-2.0
"""Functions that open and read regular files only, optionally with a size limit.

Opening a FIFO waits for a writer, and reading a device may never end.  The file type is checked
after opening, because another process can replace a file between a check of its path and `open`.
"""

from __future__ import annotations

import errno
import io
import os
import stat

__all__ = ["NotRegularError", "open_regular", "read_regular"]


class NotRegularError(OSError):
    """Error: the path leads to a FIFO, a device or a socket instead of a regular file."""


def open_regular(path: str | os.PathLike[str]) -> io.FileIO:
    """Open a regular file for unbuffered reading of bytes.

    Raises
    ------
    NotRegularError
        If the path leads to a FIFO, a device or a socket.
    OSError
        If the file cannot be opened or is a folder.
    """
    file: io.FileIO = open(path, "rb", buffering=0, opener=_open_nonblocking)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotRegularError(errno.EINVAL, "the path is not a regular file", os.fspath(path))
    return file


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file, as `os.open` does, but without waiting for the writer of a FIFO."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_regular(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """Return the contents of a regular file; raise OSError if it has more than `most_bytes`."""
    with open_regular(path) as file:
        content = file.readall() if os.fstat(file.fileno()).st_size <= most_bytes else None
    if content is None or len(content) > most_bytes:
        problem = f"expected a file of at most {most_bytes} bytes"
        raise OSError(errno.EFBIG, problem, os.fspath(path))
    return content
