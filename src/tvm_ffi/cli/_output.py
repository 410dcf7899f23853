# SPDX-License-Identifier: Apache-2.0
"""Output lines of the command ``tvm-ffi``, without control characters."""

from __future__ import annotations

import sys

from .._internal.terminal import printable

__all__ = ["print_error", "print_line"]


def print_line(text: str) -> None:
    """Print a line to standard output."""
    print(printable(text))


def print_error(error: object) -> None:
    """Print a line with an error message to standard error."""
    print(printable(f"tvm-ffi: error: {error}"), file=sys.stderr)
