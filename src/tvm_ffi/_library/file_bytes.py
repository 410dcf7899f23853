# SPDX-License-Identifier: Apache-2.0
"""Random access to the bytes of an open file, without mapping it into memory.

If another process truncates a mapped file, reading the mapping ends this process with SIGBUS.
`FileBytes` raises OSError instead.
"""

from __future__ import annotations

import errno
import io
import os

__all__ = ["FileBytes"]

# The first read of a search is small, because most strings are short.  Each further read is twice
# as large.
_FIRST_PIECE, _LARGEST_PIECE = 1 << 8, 1 << 20


class FileBytes:
    """An open file as a sequence of bytes.

    The length is the size of the file when the object is created.
    """

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, key: slice) -> bytes:
        start, end, _ = key.indices(self._size)
        pieces = []
        while start < end:
            self._file.seek(start)
            piece = self._file.read(end - start)
            if not piece:
                problem = f"became shorter than {end} bytes while it was read"
                raise OSError(errno.EIO, problem, os.fspath(self._file.name))
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def find(self, pattern: bytes, start: int, end: int) -> int:
        """Return the offset of a pattern's first occurrence; -1 if it does not occur."""
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
