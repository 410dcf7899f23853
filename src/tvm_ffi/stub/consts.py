# SPDX-License-Identifier: Apache-2.0
"""Constants of the stub generator: marker lines, block kinds, built-in types, terminal colours."""

from __future__ import annotations

from ._stubgen import blocks as _blocks
from ._stubgen import markers as _markers
from ._stubgen import registered as _registered
from ._stubgen import terminal as _terminal

DOC_URL = "docs/guides/stubs.md"
FN_NAME_MAP: dict[str, str] = {}  # Python names of functions in stubs, by registered name

BUILTIN_TYPE_KEYS = _registered.BUILTIN_TYPE_KEYS
MarkerSyntax = _markers.MarkerSyntax
PIPELINE_DIRECTIVE_KINDS = _markers.PIPELINE_DIRECTIVE_KINDS
PYTHON_SYNTAX = _markers.PYTHON_SYNTAX
RUST_SYNTAX = _markers.RUST_SYNTAX
STUB_BLOCK_KINDS = _blocks.STUB_BLOCK_KINDS
SYNTAX_BY_EXT = _markers.SYNTAX_BY_EXT
TERM_BLACK = _terminal.TERM_BLACK
TERM_BLUE = _terminal.TERM_BLUE
TERM_BOLD = _terminal.TERM_BOLD
TERM_CYAN = _terminal.TERM_CYAN
TERM_GREEN = _terminal.TERM_GREEN
TERM_MAGENTA = _terminal.TERM_MAGENTA
TERM_RED = _terminal.TERM_RED
TERM_RESET = _terminal.TERM_RESET
TERM_WHITE = _terminal.TERM_WHITE
TERM_YELLOW = _terminal.TERM_YELLOW

MarkerSyntax.__module__ = __name__
