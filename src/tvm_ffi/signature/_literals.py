# SPDX-License-Identifier: Apache-2.0
"""Conversion of enum members and NumPy scalars to built-in int, float, str and bytes.

Classes derived from these types may override `repr` and `str`. Signatures therefore store values of
the built-in classes, which have a unique text form.
"""

from __future__ import annotations

from typing import Any, Callable

from .._schema.utf8 import checked_utf8

__all__ = ["builtin_value", "checked_doc"]

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


def checked_doc(doc: Any, label: str) -> str | None:
    """Return a documentation text as a built-in str, or None.

    Raises
    ------
    TypeError
        If `doc` is neither a str nor None.
    ValueError
        If `doc` contains a lone surrogate.
    """
    if doc is None:
        return None
    if not isinstance(doc, str):
        raise TypeError(f"{label} must be a str or None, got {type(doc).__name__}")
    return checked_utf8(str.__str__(doc), label)
