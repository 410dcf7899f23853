# SPDX-License-Identifier: Apache-2.0
"""What programs print for people: names of files and texts of libraries steer no terminal."""

from __future__ import annotations

__all__ = ["shown"]


def shown(text: str) -> str:
    r"""Return a text without what would steer a terminal: ``\x1b`` for ESC, ``\n`` for a line."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
