# SPDX-License-Identifier: Apache-2.0
"""Source files with marker lines: find them, split them into blocks, write changed blocks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from .blocks import CodeBlock, is_marker, is_skipped, split_blocks
from .markers import MarkerSyntax, syntax_for
from .terminal import print_changes, print_unchanged
from .text_file import Line, TextFile, real_path

__all__ = ["FileInfo", "collect_files", "find_files", "path_walk"]


@dataclass
class FileInfo:
    """A source file: its lines on disk, and the blocks that replace them.

    Parameters
    ----------
    path : Path
        Path of the file.
    lines : tuple of str
        Lines of the file on disk, without line ends.
    code_blocks : list of CodeBlock
        Blocks with all lines in order; generators change the generated blocks.
    syntax : MarkerSyntax
        Marker lines of the file's language.
    """

    path: Path
    lines: tuple[str, ...]
    code_blocks: list[CodeBlock]
    syntax: MarkerSyntax
    _source: TextFile | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def from_file(
        file: Path, include_empty: bool = False, syntax: MarkerSyntax | None = None
    ) -> FileInfo | None:
        """Return a file and its blocks, or None if it has no markers or a ``skip-file`` marker.

        Parameters
        ----------
        file : Path
            Path of the file.
        include_empty : bool
            True to return a file without markers, too.
        syntax : MarkerSyntax, optional
            Marker lines of the language; default: chosen by the suffix of the file.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the file is not text, or a marker is invalid; the message contains the line number.
        """
        syntax = syntax or syntax_for(file)
        source = TextFile.read(file)
        if is_skipped(source.texts, syntax):
            return None
        if not (include_empty or any(is_marker(line, syntax) for line in source.texts)):
            return None
        blocks = split_blocks(source.texts, syntax)
        return FileInfo(source.path, source.texts, blocks, syntax, source)

    def reload(self) -> None:
        """Read the file and its blocks from disk again.

        Raises
        ------
        OSError, ValueError
            Under the conditions of `from_file`.
        """
        source = TextFile.read(self.path)
        self.lines, self._source = source.texts, source
        self.code_blocks = split_blocks(source.texts, self.syntax)

    def update(self, verbose: bool, dry_run: bool) -> bool:
        """Write the blocks to the file if they differ from its lines.

        Parameters
        ----------
        verbose : bool
            True to print the difference.
        dry_run : bool
            True to leave the file unchanged.

        Returns
        -------
        bool
            True if the blocks differ from the lines of the file.
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
            source.replace(_with_line_ends(self.code_blocks, source))
            self.reload()
        return True


def _with_line_ends(blocks: list[CodeBlock], source: TextFile) -> list[Line]:
    """Return the lines of the blocks; lines that come from the file keep their line ends."""
    newline = source.newline
    lines: list[Line] = []
    for block in blocks:
        markers = {0: block.lineno_start, len(block.lines) - 1: block.lineno_end or 0}
        for i, text in enumerate(block.lines):
            lineno = markers.get(i, 0)
            old = source.lines[lineno - 1].end if 0 < lineno <= len(source.lines) else ""
            lines.append(Line(text, old or newline))
    if lines and source.lines and not source.lines[-1].end:
        lines[-1] = Line(lines[-1].text, "")
    return lines


# ---- Finding files -----------------------------------------------------------------------------


def collect_files(paths: list[Path], source_exts: Collection[str]) -> list[FileInfo]:
    """Return the files with markers among the given files and in the given folders, by path.

    Raises
    ------
    OSError, ValueError
        Under the conditions of `FileInfo.from_file`; a ValueError contains the path.
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
    """Return the given files, and the files with one of the suffixes in the given folders.

    Each file is returned once, with its absolute path.  Folders whose name begins with a dot, and
    ``__pycache__``, are not searched.
    """
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            for folder, _, names in path_walk(path):
                if not _is_hidden(folder.relative_to(path)):
                    found |= {folder / name for name in names if Path(name).suffix in source_exts}
        else:
            found.add(path)
    # A file that has two names (links, `..`) must not be written twice.
    by_target = {real_path(path): path for path in sorted(found, reverse=True)}
    return sorted(Path(os.path.abspath(path)) for path in by_target.values())  # noqa: PTH100


def _is_hidden(folder: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in folder.parts)


def path_walk(
    p: Path,
    *,
    top_down: bool = True,
    on_error: Callable[[Exception], None] | None = None,
    follow_symlinks: bool = False,
) -> Iterable[tuple[Path, list[str], list[str]]]:
    """Yield the folders below a folder, like ``Path.walk`` of Python 3.12."""
    walk = os.walk(p, topdown=top_down, onerror=on_error, followlinks=follow_symlinks)
    return ((Path(folder), folders, names) for folder, folders, names in walk)
