# SPDX-License-Identifier: Apache-2.0
"""Blocks of a source file: generated text between marker lines, and single lines of other text.

    # tvm-ffi-stubgen(begin): KIND/PARAMETER      first line of a block
    # tvm-ffi-stubgen(end)                        last line of a block
    # tvm-ffi-stubgen(NAME): PAYLOAD              directive, a block of one line
    # tvm-ffi-stubgen(skip-file)                  on any line: excludes the file

A marker is alone on its line; indentation before it is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Union, cast

from .markers import MarkerSyntax

__all__ = ["STUB_BLOCK_KINDS", "CodeBlock", "is_marker", "is_skipped", "split_blocks"]

# Kind of a block; None for a single line of other text.
STUB_BLOCK_KINDS = Union[
    Literal["global", "object", "import-section", "directive", "export", "__all__"], None
]
_MARKER = re.compile(r"(?P<name>[\w-]+)\)(?P<colon>:?)(?P<payload>.*)")
_KINDS_WITH_PARAMETER = {"global", "object", "export"}
_KINDS_WITHOUT = {"import-section", "__all__"}


@dataclass
class CodeBlock:
    """A block of a file: generated lines with their markers, or a line of other text.

    Parameters
    ----------
    kind : str or None
        What the lines contain; None for a line that is not between markers.
    param : str or tuple of str
        ``(prefix, module)`` of ``global``, ``(name, payload)`` of ``directive``, the type key of
        ``object``, the submodule of ``export``, else empty.
    lineno_start, lineno_end : int
        Line numbers of the first and last line in the file, from 1; None while the end marker is
        missing.  Both are 0 in new blocks that the file does not contain yet.
    lines : list of str
        Lines of the block without line ends, markers included.
    """

    kind: STUB_BLOCK_KINDS
    param: str | tuple[str, ...]
    lineno_start: int
    lineno_end: int | None
    lines: list[str]

    @property
    def indent(self) -> int:
        """Width of the white space before the first marker, in characters."""
        return len(self.margin)

    @property
    def margin(self) -> str:
        """White space before the first marker of the block."""
        if self.kind is None or not self.lines:
            return ""
        return self.lines[0][: len(self.lines[0]) - len(self.lines[0].lstrip())]

    @property
    def body(self) -> list[str]:
        """Lines between the markers, without the white space of the margin."""
        return [line.removeprefix(self.margin) for line in self.lines[1:-1]]

    def fill(self, body: Iterable[str]) -> None:
        """Replace the lines between the markers; add the margin to each new line."""
        inner = [self.margin + line if line else "" for line in body]
        self.lines = [self.lines[0], *inner, self.lines[-1]]

    @staticmethod
    def from_begin_line(lineo: int, line: str, syntax: MarkerSyntax) -> CodeBlock:
        """Return a block without lines for a begin marker, or a directive for its line.

        Raises
        ------
        ValueError
            If the line is not a known marker; the message contains the line number.
        """
        line = line.strip()
        match = _MARKER.fullmatch(line[len(syntax.prefix) :])
        if not line.startswith(syntax.prefix) or match is None or not match["colon"]:
            raise ValueError(f"Unknown stub type at line {lineo}: {line}")
        name, payload = match["name"], match["payload"].strip()
        if name != "begin":
            return CodeBlock("directive", (name, payload), lineo, lineo, [])
        kind, slash, param = payload.partition("/")
        kind, param = kind.strip(), param.strip()
        if not _is_block(kind, param, bool(slash)):
            raise ValueError(f"Unknown stub type `{payload}` at line {lineo}")
        known = cast("STUB_BLOCK_KINDS", kind)
        if kind == "global":
            prefix, _, module = param.partition("@")
            return CodeBlock(known, (prefix.strip(), module.strip()), lineo, None, [])
        return CodeBlock(known, param, lineo, None, [])


def _is_block(kind: str, param: str, has_slash: bool) -> bool:
    if kind in _KINDS_WITH_PARAMETER:
        return bool(param)
    return kind in _KINDS_WITHOUT and not has_slash


def is_skipped(lines: Iterable[str], syntax: MarkerSyntax) -> bool:
    """Return True if a ``skip-file`` marker excludes the file from processing."""
    return any(line.strip().startswith(syntax.skip_file) for line in lines)


def is_marker(line: str, syntax: MarkerSyntax) -> bool:
    """Return True if the line is a marker of any kind."""
    return line.strip().startswith(syntax.prefix)


def split_blocks(lines: Iterable[str], syntax: MarkerSyntax) -> list[CodeBlock]:
    """Return the blocks of a source text, in order.

    Raises
    ------
    ValueError
        If markers are nested, unmatched or unknown; the message contains the line number.
    """
    blocks: list[CodeBlock] = []
    open_block: CodeBlock | None = None
    for lineno, line in enumerate(lines, 1):
        stripped = line.strip()
        if not is_marker(line, syntax):
            if open_block is not None:
                open_block.lines.append(line)
            else:
                blocks.append(CodeBlock(None, "", lineno, lineno, [line]))
        elif stripped == syntax.end:
            if open_block is None:
                raise ValueError(f"Unmatched `{syntax.end}` found at line {lineno}")
            open_block.lines.append(line)
            open_block.lineno_end = lineno
            open_block = None
        elif open_block is not None:
            raise ValueError(f"Nested stub not permitted at line {lineno}: {stripped}")
        else:
            block = CodeBlock.from_begin_line(lineno, stripped, syntax)
            block.lines.append(line)
            blocks.append(block)
            open_block = block if block.lineno_end is None else None
    if open_block is not None:
        opened = open_block.lineno_start
        raise ValueError(f"Unclosed stub block at end of file; it begins at line {opened}")
    return blocks
