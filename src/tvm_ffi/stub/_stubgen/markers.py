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
    """The marker lines of one language.

    Parameters
    ----------
    comment : str
        Characters that start a line comment, such as ``#``.
    """

    comment: str

    @property
    def prefix(self) -> str:
        """Text with which every marker line starts."""
        return f"{self.comment} tvm-ffi-stubgen("

    @property
    def begin(self) -> str:
        """Text with which the first line of a block starts."""
        return self.directive("begin")

    @property
    def end(self) -> str:
        """Last line of a block."""
        return f"{self.prefix}end)"

    @property
    def skip_file(self) -> str:
        """Line that excludes its file from processing."""
        return f"{self.prefix}skip-file)"

    @property
    def ty_map(self) -> str:
        """Text with which the line of a ``ty-map`` directive starts; it renames a type."""
        return self.directive("ty-map")

    @property
    def import_object(self) -> str:
        """Text with which the line of an ``import-object`` directive starts; it adds an import."""
        return self.directive("import-object")

    def directive(self, name: str) -> str:
        """Return the text with which the line of a directive starts."""
        return f"{self.prefix}{name}):"

    def empty_block(self, kind: str, margin: str = "") -> list[str]:
        """Return the two marker lines of an empty block; `kind` is such as ``object/KEY``."""
        return [f"{margin}{self.begin} {kind}", f"{margin}{self.end}"]


PYTHON_SYNTAX = MarkerSyntax("#")
RUST_SYNTAX = MarkerSyntax("//")
SYNTAX_BY_EXT = {".py": PYTHON_SYNTAX, ".pyi": PYTHON_SYNTAX, ".rs": RUST_SYNTAX}

# Names of directives that every target language has; each generator adds its own.
PIPELINE_DIRECTIVE_KINDS = frozenset({"prefix", "skip", "ty-map"})


def syntax_for(path: Path) -> MarkerSyntax:
    """Return the marker lines for the suffix of a file; Python's for an unknown suffix."""
    return SYNTAX_BY_EXT.get(path.suffix, PYTHON_SYNTAX)
