# SPDX-License-Identifier: Apache-2.0
"""The name that somebody meant who has written another one; what errors about names end with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_NAME = 200  # comparing two names takes the product of their lengths
_MAX_NAMES = 20_000
_MIN_ABBREVIATED = 3  # letters; fewer begin too many names


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'softmax'?"``, or nothing when no known name is near.

    Parameters
    ----------
    name : str
        The name that does not exist.
    known : iterable of str
        Those that do.
    """
    found = nearest(name, known)
    return "" if found is None else f"; did you mean {found!r}?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a name; None when none is near."""
    from difflib import get_close_matches  # most programs make no such error
    from itertools import islice

    if len(name) > _MAX_NAME:
        return None
    # Case is what differs most often, and counts as little.
    spellings: dict[str, str] = {}
    for other in islice(known, _MAX_NAMES):
        if len(other) <= _MAX_NAME:
            spellings.setdefault(other.lower(), other)
    matches = get_close_matches(name.lower(), spellings, 1, 0.75)
    if not matches and len(name) >= _MIN_ABBREVIATED:
        matches = [other for other in spellings if _abbreviates(name.lower(), other)]
    return spellings[matches[0]] if matches else None


def _abbreviates(one: str, other: str) -> bool:
    """Whether the shorter one is how the longer one begins: ``eps`` and ``epsilon``."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= _MIN_ABBREVIATED and longer.startswith(shorter)
