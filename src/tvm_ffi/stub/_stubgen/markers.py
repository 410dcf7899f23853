# SPDX-License-Identifier: Apache-2.0
"""Marker lines: the comments that open and close generated blocks, in Python and in Rust."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "PIPELINE_DIRECTIVE_KINDS",
    "PYTHON_SYNTAX",
    "RUST_SYNTAX",
    "SYNTAX_BY_EXT",
    "MarkerSyntax",
    "syntax_for",
]


@dataclass(frozen=True)
class MarkerSyntax:
    """Marker lines of one language.

    Parameters
    ----------
    comment : str
        Start of a line comment, such as ``#``.
    """

    comment: str

    @property
    def prefix(self) -> str:
        """Start of every marker line."""
        return f"{self.comment} tvm-ffi-stubgen("

    @property
    def begin(self) -> str:
        """Start of the line that opens a block."""
        return self.directive("begin")

    @property
    def end(self) -> str:
        """Line that closes a block."""
        return f"{self.prefix}end)"

    @property
    def skip_file(self) -> str:
        """Line that excludes a file."""
        return f"{self.prefix}skip-file)"

    @property
    def ty_map(self) -> str:
        """Start of a line that renames a type."""
        return self.directive("ty-map")

    @property
    def import_object(self) -> str:
        """Start of a line that adds an import."""
        return self.directive("import-object")

    def directive(self, name: str) -> str:
        """Return the start of a line with the named directive."""
        return f"{self.prefix}{name}):"

    def empty_block(self, kind: str, margin: str = "") -> list[str]:
        """Return the two lines of a block without content, such as ``object/KEY``."""
        return [f"{margin}{self.begin} {kind}", f"{margin}{self.end}"]


PYTHON_SYNTAX = MarkerSyntax("#")
RUST_SYNTAX = MarkerSyntax("//")
SYNTAX_BY_EXT = {".py": PYTHON_SYNTAX, ".pyi": PYTHON_SYNTAX, ".rs": RUST_SYNTAX}

# Directives that every target supports; a generator adds its own.
PIPELINE_DIRECTIVE_KINDS = frozenset({"prefix", "skip", "ty-map"})


def syntax_for(path: Path) -> MarkerSyntax:
    """Return the markers of a file by its suffix; Python's for an unknown suffix."""
    return SYNTAX_BY_EXT.get(path.suffix, PYTHON_SYNTAX)
