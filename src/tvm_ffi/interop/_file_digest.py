# SPDX-License-Identifier: Apache-2.0
"""Digests of library files, which identify the code of a function in every process."""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

__all__ = ["file_digest"]


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 digest of a file in hexadecimal digits.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    status = Path(path).stat()
    return _digest(Path(path), status.st_ino, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _digest(path: Path, *_: int) -> str:
    """Return the digest of a file; the other arguments are different if the file has changed."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
