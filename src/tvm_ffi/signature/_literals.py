# SPDX-License-Identifier: Apache-2.0
"""Conversion of enum members and NumPy scalars to built-in int, float, str and bytes.

Classes derived from these types may override `repr` and `str`. Signatures therefore store values of
the built-in classes, which have a unique text form.
"""

from __future__ import annotations

from typing import Any, Callable

__all__ = ["builtin_value"]

# Conversions from a derived class to the built-in class; they bypass overridden methods.
_CONVERSIONS: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    bytes: lambda text: bytes.__getitem__(text, slice(None)),
}


def builtin_value(value: Any) -> Any:
    """Convert a number, str or bytes to its built-in class; return other values unchanged."""
    for cls, convert in _CONVERSIONS.items():
        if isinstance(value, cls) and type(value) not in (cls, bool):
            return convert(value)
    return value
