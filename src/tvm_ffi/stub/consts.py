# SPDX-License-Identifier: Apache-2.0
"""Constants of all targets: marker lines, block kinds, built-in types, terminal colours."""

from ._stubgen.blocks import STUB_BLOCK_KINDS
from ._stubgen.markers import (
    PIPELINE_DIRECTIVE_KINDS,
    PYTHON_SYNTAX,
    RUST_SYNTAX,
    SYNTAX_BY_EXT,
    MarkerSyntax,
)
from ._stubgen.registered import BUILTIN_TYPE_KEYS
from ._stubgen.terminal import (
    TERM_BLACK,
    TERM_BLUE,
    TERM_BOLD,
    TERM_CYAN,
    TERM_GREEN,
    TERM_MAGENTA,
    TERM_RED,
    TERM_RESET,
    TERM_WHITE,
    TERM_YELLOW,
)

# Documentation of the tool.
DOC_URL = "docs/guides/stubs.md"

# Stub names of functions that differ from the registered names; empty.
FN_NAME_MAP: dict[str, str] = {}

__all__ = [
    "BUILTIN_TYPE_KEYS",
    "DOC_URL",
    "FN_NAME_MAP",
    "PIPELINE_DIRECTIVE_KINDS",
    "PYTHON_SYNTAX",
    "RUST_SYNTAX",
    "STUB_BLOCK_KINDS",
    "SYNTAX_BY_EXT",
    "TERM_BLACK",
    "TERM_BLUE",
    "TERM_BOLD",
    "TERM_CYAN",
    "TERM_GREEN",
    "TERM_MAGENTA",
    "TERM_RED",
    "TERM_RESET",
    "TERM_WHITE",
    "TERM_YELLOW",
    "MarkerSyntax",
]

MarkerSyntax.__module__ = __name__
