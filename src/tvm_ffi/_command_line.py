# SPDX-License-Identifier: Apache-2.0
"""Arguments of our commands; errors about them are lines for people, whatever a file is called."""

from __future__ import annotations

import argparse
from typing import NoReturn

from ._one_line import shown

__all__ = ["ArgumentParser"]


class ArgumentParser(argparse.ArgumentParser):
    """As the standard library's; sub-commands get parsers of this class, too."""

    def error(self, message: str) -> NoReturn:
        """Print a line that says what is wrong, and end with status 2."""
        super().error(shown(message))
