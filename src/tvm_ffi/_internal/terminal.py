# SPDX-License-Identifier: Apache-2.0
"""Terminal output: text without control characters, and the argument parser of our commands."""

from __future__ import annotations

import argparse
from typing import NoReturn

__all__ = ["ArgumentParser", "printable"]


def printable(text: str) -> str:
    r"""Return `text` with control characters escaped, such as ``\x1b`` for ESC.

    File names and texts from libraries are printed in this form, so that they cannot send escape
    sequences to the terminal or break a line.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class ArgumentParser(argparse.ArgumentParser):
    """An argument parser whose error messages are printable; sub-commands inherit the class."""

    def error(self, message: str) -> NoReturn:
        """Print the message to standard error and exit with status 2."""
        super().error(printable(message))
