# SPDX-License-Identifier: Apache-2.0
"""Text files as their authors wrote them: encoding, byte order mark and line ends are kept.

A file is replaced in one step, so readers see the old text or the new one, and a failure leaves
the old one.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path

from .._internal.regular_file import read_regular

__all__ = ["Line", "TextFile"]

# Only these end a line for compilers and editors alike; str.splitlines knows further ones.
_MOST_BYTES = 1 << 26
_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")


@dataclass(frozen=True)
class Line:
    """A line, and what ends it: nothing at the end of some files."""

    text: str
    end: str


@dataclass(frozen=True)
class TextFile:
    """A file that was read, or that does not exist yet."""

    path: Path
    lines: tuple[Line, ...] = ()
    encoding: str = "utf-8"

    @staticmethod
    def read(path: Path) -> TextFile:
        """Return the text of a file.

        Raises
        ------
        OSError
            If it cannot be read.
        ValueError
            If its bytes are no text; the message names the line.
        """
        content = read_regular(path, _MOST_BYTES)
        encoding = _encoding_of(path, content)
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            lineno = content.count(b"\n", 0, error.start) + 1
            reason = f"byte {content[error.start]:#04x} is not {error.encoding} text"
            raise ValueError(f"{reason} (line {lineno})") from None
        return TextFile(path, tuple(_split(text)), encoding)

    @property
    def newline(self) -> str:
        """What ends most lines; a tie goes to the first."""
        ends = [line.end for line in self.lines if line.end]
        return max(dict.fromkeys(ends), key=ends.count) if ends else "\n"

    @property
    def texts(self) -> tuple[str, ...]:
        """The lines without their ends."""
        return tuple(line.text for line in self.lines)

    def replace(self, lines: list[Line]) -> None:
        """Write other lines; the file keeps its permissions, and links keep pointing at it.

        Raises
        ------
        OSError, UnicodeEncodeError
            If they cannot be written; the file is then as before.
        """
        content = "".join(line.text + line.end for line in lines).encode(self.encoding)
        target = self.path.resolve()
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is read-only", str(target))
        if target.exists() and not target.is_file():  # a terminal, a pipe
            self.path.write_bytes(content)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            _take_permissions(target, Path(name))
            Path(name).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise


def _split(text: str) -> list[Line]:
    lines = [Line(*match.groups()) for match in _LINE.finditer(text)]
    return lines[:-1]  # the pattern also matches the nothing at the end


def _encoding_of(path: Path, content: bytes) -> str:
    """Return the encoding that a mark or, in Python files, a comment tells; else UTF-8."""
    if content.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if path.suffix not in {".py", ".pyi"}:
        return "utf-8"
    try:
        return tokenize.detect_encoding(io.BytesIO(content).readline)[0]
    except SyntaxError as error:
        # Raised for bytes that are no UTF-8, too: decoding finds out where.
        if "unknown encoding" in str(error):
            raise ValueError(f"{error} (line 1 or 2)") from None
        return "utf-8"


def _take_permissions(target: Path, new: Path) -> None:
    """Give a new file the permissions of the one it replaces, or those of any new file."""
    if target.exists():
        shutil.copymode(target, new)
        return
    mask = os.umask(0)
    os.umask(mask)
    new.chmod(0o666 & ~mask)
