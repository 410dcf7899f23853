# SPDX-License-Identifier: Apache-2.0
"""Terminal output of ``tvm-ffi-stubgen``: lines, differences and ANSI colours."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..._internal.terminal import printable

__all__ = ["print_changes", "print_line", "print_unchanged"]

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


def print_line(text: str, colour: str = "") -> None:
    """Print a line, coloured if the output is a terminal and ``NO_COLOR`` is unset.

    Control characters in file names and in strings from libraries are escaped.
    """
    text = printable(text)
    if colour and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        text = f"{colour}{text}{TERM_RESET}"
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:  # the process that read the output has exited; continue without output
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_unchanged(path: Path) -> None:
    """Report on the terminal that a file is up to date."""
    print_line(f"[File] {path}", TERM_CYAN)
    print_line("-----> Unchanged", TERM_CYAN)


def print_changes(path: Path, old: Sequence[str], new: Sequence[str]) -> None:
    """Print the difference between the old and the new lines of a file."""
    print_line(f"[File] {path}", TERM_CYAN)
    for line in list(difflib.unified_diff(old, new, lineterm=""))[2:]:
        print_line(line, {"+": TERM_GREEN, "-": TERM_RED}.get(line[:1], ""))
