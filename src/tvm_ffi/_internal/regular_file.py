# SPDX-License-Identifier: Apache-2.0
"""Reading files that anybody may have put there: regular ones alone, and no more than is wanted.

To open a FIFO is to wait for somebody who writes, and a device may have no end.  A name that was
looked at before can lead to one when it is opened, so what counts is what was opened.
"""

from __future__ import annotations

import errno
import io
import os
import stat

__all__ = ["NotRegularError", "open_regular", "read_regular"]


class NotRegularError(OSError):
    """A FIFO, a device or a socket where a file was expected."""


def open_regular(path: str | os.PathLike[str]) -> io.FileIO:
    """Open a regular file to read bytes from it, without a buffer.

    Raises
    ------
    NotRegularError
        If it is a FIFO, a device or a socket.
    OSError
        If it cannot be opened, or is a folder.
    """
    file: io.FileIO = open(path, "rb", buffering=0, opener=_open_at_once)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotRegularError(errno.EINVAL, "not a regular file", os.fspath(path))
    return file


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_regular(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """Return what is in a regular file; OSError if it is none, or one with more bytes."""
    with open_regular(path) as file:
        content = file.readall() if os.fstat(file.fileno()).st_size <= most_bytes else None
    if content is None or len(content) > most_bytes:
        problem = f"expected at most {most_bytes} bytes"
        raise OSError(errno.EFBIG, problem, os.fspath(path))
    return content
