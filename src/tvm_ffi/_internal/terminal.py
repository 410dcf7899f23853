# SPDX-License-Identifier: Apache-2.0
"""Terminal output without control characters, and the argument parser of command-line tools."""

from __future__ import annotations

import argparse
from typing import NoReturn

__all__ = ["ArgumentParser", "printable"]


def printable(text: str) -> str:
    r"""Return `text` with control characters escaped, such as ``\x1b`` for ESC.

    Commands print file names and strings from libraries in this form, so that these cannot send
    escape sequences to the terminal or break a line.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class ArgumentParser(argparse.ArgumentParser):
    """An argument parser that escapes control characters in its error messages."""

    def error(self, message: str) -> NoReturn:
        """Print an error message to standard error and exit with status 2."""
        super().error(printable(message))
