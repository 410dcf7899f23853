# SPDX-License-Identifier: Apache-2.0
"""Suggestions for misspelled names (``did you mean``) in error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Maximum length of a compared name, in characters.  The comparison time grows with the product of
# the lengths of two names.
_MAX_NAME = 200
_MAX_NAMES = 20_000
_MIN_ABBREVIATED = 3  # minimum characters of an abbreviation; shorter ones match too many names


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion, ``"; did you mean 'softmax'?"``; empty if no known name is similar.

    Parameters
    ----------
    name : str
        The name that was not found.
    known : iterable of str
        The names that exist.
    """
    found = nearest(name, known)
    return "" if found is None else f"; did you mean {found!r}?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`; None if no name is similar enough."""
    from difflib import get_close_matches  # lazy import, because only errors need the module
    from itertools import islice

    if len(name) > _MAX_NAME:
        return None
    # Ignore case, because wrong case is the most frequent mistake.
    spellings: dict[str, str] = {}
    for other in islice(known, _MAX_NAMES):
        if len(other) <= _MAX_NAME:
            spellings.setdefault(other.lower(), other)
    matches = get_close_matches(name.lower(), spellings, 1, 0.75)
    if not matches and len(name) >= _MIN_ABBREVIATED:
        matches = [other for other in spellings if _abbreviates(name.lower(), other)]
    return spellings[matches[0]] if matches else None


def _abbreviates(first: str, second: str) -> bool:
    """Return True if the shorter name is a prefix of the longer one: ``eps`` and ``epsilon``."""
    shorter, longer = sorted((first, second), key=len)
    return len(shorter) >= _MIN_ABBREVIATED and longer.startswith(shorter)
