# SPDX-License-Identifier: Apache-2.0
"""Source files as rows of blocks: generated text between markers, and single lines of other text.

    # tvm-ffi-stubgen(begin): KIND/PARAMETER      first line of a block
    # tvm-ffi-stubgen(end)                        last line of a block
    # tvm-ffi-stubgen(NAME): PAYLOAD              directive, a block of one line
    # tvm-ffi-stubgen(skip-file)                  leaves the file alone, wherever it stands

Markers are whole lines, whatever their indentation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, cast

from . import consts as C  # noqa: N812 - as in the contract's signatures
from ._report import print_changes, print_unchanged
from ._text_file import Line, TextFile

__all__ = ["CodeBlock", "FileInfo", "collect_files", "path_walk", "syntax_for"]

_MARKER = re.compile(r"(?P<name>[\w-]+)\)(?P<colon>:?)(?P<payload>.*)")
_KINDS_WITH_PARAMETER = {"global", "object", "export"}
_KINDS_WITHOUT = {"import-section", "__all__"}


@dataclass
class CodeBlock:
    """Lines that belong together.

    Parameters
    ----------
    kind : str or None
        What the block is for; None for a line of other text.
    param : str or tuple of str
        ``(prefix, module)`` of ``global``, ``(name, payload)`` of ``directive``, the type key of
        ``object``, the submodule of ``export``, else empty.
    lineno_start, lineno_end : int
        Numbers of the first and last line in the file, from 1; None while a block is open.  Both
        are 0 in blocks that a file does not have yet.
    lines : list of str
        The lines without their ends, markers included.
    """

    kind: C.STUB_BLOCK_KINDS
    param: str | tuple[str, ...]
    lineno_start: int
    lineno_end: int | None
    lines: list[str]

    @property
    def indent(self) -> int:
        """Width of the white space before the first marker."""
        return len(self.margin)

    @property
    def margin(self) -> str:
        """The white space before the first marker."""
        if self.kind is None or not self.lines:
            return ""
        return self.lines[0][: len(self.lines[0]) - len(self.lines[0].lstrip())]

    def fill(self, body: Iterable[str]) -> None:
        """Replace what stands between the markers; the lines get the indentation of the block."""
        inner = [self.margin + line if line else "" for line in body]
        self.lines = [self.lines[0], *inner, self.lines[-1]]

    @staticmethod
    def from_begin_line(lineo: int, line: str, syntax: C.MarkerSyntax) -> CodeBlock:
        """Return the block that a marker line opens, or the directive that it is; without lines.

        Raises
        ------
        ValueError
            If the line is no such marker; the message names the line number.
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
        known = cast("C.STUB_BLOCK_KINDS", kind)
        if kind == "global":
            prefix, _, module = param.partition("@")
            return CodeBlock(known, (prefix.strip(), module.strip()), lineo, None, [])
        return CodeBlock(known, param, lineo, None, [])


def _is_block(kind: str, param: str, has_slash: bool) -> bool:
    if kind in _KINDS_WITH_PARAMETER:
        return bool(param)
    return kind in _KINDS_WITHOUT and not has_slash


@dataclass
class FileInfo:
    """A source file: the lines it has, and the blocks it is to have.

    Parameters
    ----------
    path : Path
        The file.
    lines : tuple of str
        The lines on disk, without their ends.
    code_blocks : list of CodeBlock
        All lines in order; changed by generators.
    syntax : MarkerSyntax
        How markers look.
    """

    path: Path
    lines: tuple[str, ...]
    code_blocks: list[CodeBlock]
    syntax: C.MarkerSyntax
    _source: TextFile | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def from_file(
        file: Path, include_empty: bool = False, syntax: C.MarkerSyntax | None = None
    ) -> FileInfo | None:
        """Return the blocks of a file.

        Parameters
        ----------
        file : Path
            The file.
        include_empty : bool
            Whether a file without markers counts; else the result is None, as for a file that asks
            to be skipped.
        syntax : MarkerSyntax, optional
            How markers look; found by the file's suffix when it is not given.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If it is no text or its markers are wrong; the message names the line.
        """
        return _file_info(TextFile.read(file), include_empty, syntax or syntax_for(file))

    def reload(self) -> None:
        """Read the file again.

        Raises
        ------
        OSError, ValueError
            As `from_file`.
        """
        source = TextFile.read(self.path)
        self.lines, self._source = source.texts, source
        self.code_blocks = split_blocks(source.texts, self.syntax)

    def update(self, verbose: bool, dry_run: bool) -> bool:
        """Bring the file on disk to what the blocks say.

        Parameters
        ----------
        verbose : bool
            Whether to print the difference.
        dry_run : bool
            Whether to leave the file as it is.

        Returns
        -------
        bool
            Whether there is a difference.
        """
        new_lines = [line for block in self.code_blocks for line in block.lines]
        if list(self.lines) == new_lines:
            if verbose:
                print_unchanged(self.path)
            return False
        if verbose:
            print_changes(self.path, self.lines, new_lines)
        if not dry_run:
            source = self._source or TextFile(self.path)
            source.replace(_with_ends(self.code_blocks, source))
            self.reload()
        return True


def _file_info(source: TextFile, include_empty: bool, syntax: C.MarkerSyntax) -> FileInfo | None:
    if is_skipped(source.texts, syntax):
        return None
    if not (include_empty or any(_is_marker(line, syntax) for line in source.texts)):
        return None
    blocks = split_blocks(source.texts, syntax)
    return FileInfo(source.path, source.texts, blocks, syntax, source)


def is_skipped(lines: Iterable[str], syntax: C.MarkerSyntax) -> bool:
    """Whether a file asks to be left alone."""
    return any(line.strip().startswith(syntax.skip_file) for line in lines)


def _is_marker(line: str, syntax: C.MarkerSyntax) -> bool:
    return line.strip().startswith(syntax.prefix)


def split_blocks(lines: Iterable[str], syntax: C.MarkerSyntax) -> list[CodeBlock]:
    """Return the blocks of a text.

    Raises
    ------
    ValueError
        If markers are nested, unmatched or unknown; the message names the line.
    """
    blocks: list[CodeBlock] = []
    open_block: CodeBlock | None = None
    for lineno, line in enumerate(lines, 1):
        stripped = line.strip()
        is_marker = _is_marker(line, syntax)
        if is_marker and stripped == syntax.end:
            if open_block is None:
                raise ValueError(f"Unmatched `{syntax.end}` found at line {lineno}")
            open_block.lines.append(line)
            open_block.lineno_end = lineno
            open_block = None
        elif is_marker and open_block is not None:
            raise ValueError(f"Nested stub not permitted at line {lineno}: {stripped}")
        elif is_marker:
            block = CodeBlock.from_begin_line(lineno, stripped, syntax)
            block.lines.append(line)
            blocks.append(block)
            open_block = block if block.lineno_end is None else None
        elif open_block is not None:
            open_block.lines.append(line)
        else:
            blocks.append(CodeBlock(None, "", lineno, lineno, [line]))
    if open_block is not None:
        opened = open_block.lineno_start
        raise ValueError(f"Unclosed stub block at end of file; it begins at line {opened}")
    return blocks


def _with_ends(blocks: list[CodeBlock], source: TextFile) -> list[Line]:
    """Return the lines of blocks, with their old ends where they were in the file before."""
    newline = source.newline
    lines: list[Line] = []
    for block in blocks:
        marked = {0: block.lineno_start, len(block.lines) - 1: block.lineno_end or 0}
        for i, text in enumerate(block.lines):
            lineno = marked.get(i, 0)
            old = source.lines[lineno - 1].end if 0 < lineno <= len(source.lines) else ""
            lines.append(Line(text, old or newline))
    if lines and source.lines and not source.lines[-1].end:
        lines[-1] = Line(lines[-1].text, "")
    return lines


# ---- Finding files -----------------------------------------------------------------------------


def syntax_for(path: Path) -> C.MarkerSyntax:
    """Return how markers look in a file; as in Python unless its suffix says otherwise."""
    return C.SYNTAX_BY_EXT.get(path.suffix, C.PYTHON_SYNTAX)


def collect_files(paths: list[Path], source_exts: Collection[str]) -> list[FileInfo]:
    """Return the files with markers among the given ones and below the given folders, by path.

    Raises
    ------
    OSError, ValueError
        As `FileInfo.from_file`; the message of the latter names the file.
    """
    found = []
    for path in find_files(paths, source_exts):
        try:
            info = FileInfo.from_file(path)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if info is not None:
            found.append(info)
    return found


def find_files(paths: Iterable[Path], source_exts: Collection[str]) -> list[Path]:
    """Return the given files, and those with a suffix below the given folders, each once.

    Paths are absolute.  Folders whose name begins with a dot, and caches, are not entered.
    """
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            for folder, _, names in path_walk(path):
                if not _is_hidden(folder.relative_to(path)):
                    found |= {folder / name for name in names if Path(name).suffix in source_exts}
        else:
            found.add(path)
    # One file under two names (links, `..`) is one file, and would be written twice.
    by_place = {path.resolve(): path for path in sorted(found, reverse=True)}
    return sorted(Path(os.path.abspath(path)) for path in by_place.values())  # noqa: PTH100


def _is_hidden(folder: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in folder.parts)


def path_walk(
    p: Path,
    *,
    top_down: bool = True,
    on_error: Callable[[Exception], None] | None = None,
    follow_symlinks: bool = False,
) -> Iterable[tuple[Path, list[str], list[str]]]:
    """Walk a folder as ``Path.walk`` of Python 3.12 does."""
    walk = os.walk(p, topdown=top_down, onerror=on_error, followlinks=follow_symlinks)
    return ((Path(folder), folders, names) for folder, folders, names in walk)
