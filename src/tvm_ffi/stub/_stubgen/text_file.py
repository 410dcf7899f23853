# SPDX-License-Identifier: Apache-2.0
"""Text files that keep their encoding, byte order mark, line ends and permissions.

A file is replaced by renaming a complete new file over it.  Readers therefore see the old text or
the new text, and a failure leaves the old text.
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
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..._internal.regular_file import read_regular

__all__ = ["Line", "TextFile", "real_path"]

_MAX_BYTES = 1 << 26
# A line and its line end.  Unlike `str.splitlines`, compilers and editors split lines only here.
_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")


@dataclass(frozen=True)
class Line:
    """A line of a file and its line end, which may be empty in the last line."""

    text: str
    end: str


@dataclass(frozen=True)
class TextFile:
    """The lines and the encoding of a text file; no lines if the file does not exist yet."""

    path: Path
    lines: tuple[Line, ...] = ()
    encoding: str = "utf-8"
    _content: bytes | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def read(path: Path) -> TextFile:
        """Read a text file.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the file is not text; the message contains the line number.
        """
        content = read_regular(path, _MAX_BYTES)
        encoding = _encoding_of(path, content)
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            lineno = content.count(b"\n", 0, error.start) + 1
            reason = f"byte {content[error.start]:#04x} is not {error.encoding} text"
            raise ValueError(f"{reason} (line {lineno})") from None
        return TextFile(path, tuple(_split(text)), encoding, content)

    @property
    def newline(self) -> str:
        """The most frequent line end of the file; among equally frequent ones, the first."""
        ends = [line.end for line in self.lines if line.end]
        return max(dict.fromkeys(ends), key=ends.count) if ends else "\n"

    @property
    def texts(self) -> tuple[str, ...]:
        """The lines of the file without line ends."""
        return tuple(line.text for line in self.lines)

    def replace(self, lines: list[Line]) -> None:
        """Replace the lines of the file; its permissions and the links to it do not change.

        Raises
        ------
        OSError, UnicodeEncodeError
            If the lines cannot be written; the file is then unchanged.
        ValueError
            If the encoding is not reversible, such as ``unicode_escape``; the file is unchanged.
        """
        content = _encoded(lines, self.encoding)
        if self._content is not None and _encoded(self.lines, self.encoding) != self._content:
            raise ValueError(
                f"the encoding {self.encoding!r} decodes the file to text that it encodes to other "
                "bytes; declare another encoding, such as utf-8"
            )
        target = real_path(self.path)
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is read-only", str(target))
        # A terminal or a pipe is written directly, because it cannot be replaced by a new file.
        if target.exists() and not target.is_file():
            self.path.write_bytes(content)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            _copy_permissions(target, Path(name))
            Path(name).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise


def real_path(path: Path) -> Path:
    """Return a path without links, like `Path.resolve`, also for a link to itself."""
    return Path(os.path.realpath(path))


def _encoded(lines: Iterable[Line], encoding: str) -> bytes:
    return "".join(line.text + line.end for line in lines).encode(encoding)


def _split(text: str) -> list[Line]:
    lines = [Line(*match.groups()) for match in _LINE.finditer(text)]
    return lines[:-1]  # without the empty line that the pattern finds at the end of the text


def _encoding_of(path: Path, content: bytes) -> str:
    """Return the encoding that a byte order mark or a coding comment declares; else UTF-8."""
    if content.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if path.suffix not in {".py", ".pyi"}:
        return "utf-8"
    try:
        return tokenize.detect_encoding(io.BytesIO(content).readline)[0]
    except SyntaxError as error:
        # Bytes that are not UTF-8 raise SyntaxError, too; `TextFile.read` reports their line.
        if "unknown encoding" in str(error):
            raise ValueError(f"{error} (line 1 or 2)") from None
        return "utf-8"


def _copy_permissions(target: Path, new: Path) -> None:
    """Give the file `new` the permissions of `target`; the usual ones if `target` is missing."""
    if target.exists():
        shutil.copymode(target, new)
        return
    mask = os.umask(0)
    os.umask(mask)
    new.chmod(0o666 & ~mask)
