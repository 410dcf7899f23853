# SPDX-License-Identifier: Apache-2.0
"""Names shared by all targets: markers in files, kinds of blocks, colours of the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

# What a block is for; None: text that is not ours.
STUB_BLOCK_KINDS = Union[
    Literal["global", "object", "import-section", "directive", "export", "__all__"], None
]

# The page about the tool, in the documentation of the package.
DOC_URL = "docs/guides/stubs.md"


@dataclass(frozen=True)
class MarkerSyntax:
    """How marker lines look in one language.

    Parameters
    ----------
    comment : str
        What starts a comment, such as ``#``.
    """

    comment: str

    @property
    def prefix(self) -> str:
        """What every marker line begins with."""
        return f"{self.comment} tvm-ffi-stubgen("

    @property
    def begin(self) -> str:
        """What the first line of a block begins with."""
        return self.directive("begin")

    @property
    def end(self) -> str:
        """The last line of a block."""
        return f"{self.prefix}end)"

    @property
    def skip_file(self) -> str:
        """The line that excludes a file."""
        return f"{self.prefix}skip-file)"

    @property
    def ty_map(self) -> str:
        """What a line that renames a type begins with."""
        return self.directive("ty-map")

    @property
    def import_object(self) -> str:
        """What a line that asks for an import begins with."""
        return self.directive("import-object")

    def directive(self, name: str) -> str:
        """Return what a line with a directive begins with."""
        return f"{self.prefix}{name}):"


PYTHON_SYNTAX = MarkerSyntax("#")
RUST_SYNTAX = MarkerSyntax("//")
SYNTAX_BY_EXT = {".py": PYTHON_SYNTAX, ".pyi": PYTHON_SYNTAX, ".rs": RUST_SYNTAX}

# Directives that mean the same for all targets; generators have further ones.
PIPELINE_DIRECTIVE_KINDS = frozenset({"prefix", "skip", "ty-map"})

# Types that languages have their own classes for: never written by ``prefix`` and ``--init-*``.
BUILTIN_TYPE_KEYS = {
    "ffi.BigInt",
    "ffi.Bytes",
    "ffi.Error",
    "ffi.Function",
    "ffi.Object",
    "ffi.OpaquePyObject",
    "ffi.SmallBytes",
    "ffi.SmallStr",
    "ffi.String",
    "ffi.Tensor",
}

# Functions whose stub has another name than the function; none at present.
FN_NAME_MAP: dict[str, str] = {}

TERM_RESET = "\x1b[0m"
TERM_BOLD = "\x1b[1m"
TERM_BLACK = "\x1b[30m"
TERM_RED = "\x1b[31m"
TERM_GREEN = "\x1b[32m"
TERM_YELLOW = "\x1b[33m"
TERM_BLUE = "\x1b[34m"
TERM_MAGENTA = "\x1b[35m"
TERM_CYAN = "\x1b[36m"
TERM_WHITE = "\x1b[37m"
