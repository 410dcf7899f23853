# SPDX-License-Identifier: Apache-2.0
"""The bytes of a file, read where they are asked for.

A mapping would end the process with SIGBUS when somebody shortens the file meanwhile; here that is
an OSError.
"""

from __future__ import annotations

import errno
import io
import os

__all__ = ["FileBytes"]

# What a search reads at first, since most texts are short, and at most.
_FIRST_PIECE, _LARGEST_PIECE = 1 << 8, 1 << 20


class FileBytes:
    """An open file as a sequence of as many bytes as it had in the beginning."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: slice) -> bytes:
        start, end, _ = place.indices(self._size)
        pieces = []
        while start < end:
            piece = os.pread(self._file.fileno(), end - start, start)
            if not piece:
                problem = f"became shorter than {end} bytes while it was read"
                raise OSError(errno.EIO, problem, os.fspath(self._file.name))
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def find(self, pattern: bytes, start: int, end: int) -> int:
        """Return where a pattern begins first, -1 if it is not there; as ``bytes.find``."""
        end = min(end, self._size)
        size = _FIRST_PIECE
        while start < end:
            piece = self[start : min(start + size + len(pattern), end)]
            at = piece.find(pattern)
            if at >= 0:
                return start + at
            start += size
            size = min(2 * size, _LARGEST_PIECE)
        return -1
