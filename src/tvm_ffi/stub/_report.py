# SPDX-License-Identifier: Apache-2.0
"""What the tool says on its output; in colours on a terminal."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .._internal.terminal import printable
from . import consts as C  # noqa: N812

__all__ = ["print_changes", "print_line", "print_unchanged"]


def print_line(text: str, colour: str = "") -> None:
    """Print a line in a colour, if the output shows any.

    Names of files and texts of libraries in it steer no terminal.
    """
    text = printable(text)
    if colour and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        text = f"{colour}{text}{C.TERM_RESET}"
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:  # nobody reads on, which is no reason to leave files unfinished
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_unchanged(path: Path) -> None:
    """Say that a file is as it should be."""
    print_line(f"[File] {path}", C.TERM_CYAN)
    print_line("-----> Unchanged", C.TERM_CYAN)


def print_changes(path: Path, old: Sequence[str], new: Sequence[str]) -> None:
    """Print the difference between two texts."""
    print_line(f"[File] {path}", C.TERM_CYAN)
    for line in list(difflib.unified_diff(old, new, lineterm=""))[2:]:
        print_line(line, {"+": C.TERM_GREEN, "-": C.TERM_RED}.get(line[:1], ""))
