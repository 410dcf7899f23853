# SPDX-License-Identifier: Apache-2.0
"""`Finding`: one statement about the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    _Level = Literal["ok", "note", "problem", "compile"]

__all__ = ["Finding"]


class Finding(NamedTuple):
    """One statement about the environment."""

    area: str
    """``runtime``, ``libraries``, ``requirements``, ``gpu``, ``cache``, ``compilers`` or
    ``serving``."""
    level: _Level
    """``ok``; ``note``: works, but may surprise; ``problem``: will fail; ``compile``: would compile
    while the environment serves."""
    subject: str
    """The package, file, folder or program that the finding is about."""
    message: str
    remedy: str = ""
    """How to repair it; empty if there is nothing to repair."""
