# SPDX-License-Identifier: Apache-2.0
"""Values as text can write them: of Python's own classes, whatever class of the user's they had.

Members of an enum, and the numbers of NumPy, are instances of classes that derive from int, float
or str, and have a text of their own.
"""

from __future__ import annotations

from typing import Any, Callable

__all__ = ["builtin_value"]

# What makes a value of exactly this class of an instance of a derived one, whatever that overrides.
_CONVERSIONS: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    bytes: lambda text: bytes.__getitem__(text, slice(None)),
}


def builtin_value(value: Any) -> Any:
    """Return a number or text of exactly such a class; anything else is returned as it is."""
    for cls, convert in _CONVERSIONS.items():
        if isinstance(value, cls) and type(value) not in (cls, bool):
            return convert(value)
    return value
