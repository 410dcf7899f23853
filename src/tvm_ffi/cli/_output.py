# SPDX-License-Identifier: Apache-2.0
"""Lines for people: whatever names of files, libraries and errors contain, a line stays a line."""

from __future__ import annotations

import sys

from .._internal.terminal import printable

__all__ = ["print_error", "print_line"]


def print_line(text: str) -> None:
    """Print a line."""
    print(printable(text))


def print_error(problem: object) -> None:
    """Print a line that says what could not be done."""
    print(printable(f"tvm-ffi: error: {problem}"), file=sys.stderr)
