# SPDX-License-Identifier: Apache-2.0
"""Declarations of variants in the body of an enumeration: `entry`, `auto` and plain values."""

from __future__ import annotations

import re
import typing
from typing import Any, ClassVar

from ._annotations import own_annotations

__all__ = ["EnumEntry", "auto", "declared_entries", "entry"]

_CLASS_VARIABLE = re.compile(r"(\w+\.)*ClassVar\b")


class EnumEntry:
    """A variant that a class body declares, with the values of its fields."""

    __slots__ = ("args", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs

    def __repr__(self) -> str:
        parts = [repr(arg) for arg in self.args]
        parts += [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return f"entry({', '.join(parts)})"


def entry(*args: Any, **kwargs: Any) -> Any:
    """Declare a variant of an enumeration.

    Parameters
    ----------
    *args
        Not supported: a positional argument makes the class definition raise TypeError.
    **kwargs
        Values of the variant's fields; ``value`` for an `IntEnum` or a `StrEnum`.

    Returns
    -------
    Any
        A declaration, which the class definition replaces by the variant.
    """
    return EnumEntry(args, kwargs)


def auto() -> Any:
    """Declare a variant of an enumeration that has no fields.

    Returns
    -------
    Any
        A declaration, which the class definition replaces by the variant.
    """
    return EnumEntry((), {})


def declared_entries(cls: type, payload: type | None) -> tuple[list[str], dict[str, EnumEntry]]:
    """Return the names of variants that are only annotated, and the declarations by name.

    Parameters
    ----------
    cls : type
        The enumeration; the declarations are removed from its body.
    payload : type, optional
        ``int`` or ``str`` if a plain value such as ``low = 10`` declares a variant.
    """
    annotations = own_annotations(cls)
    entries = entries_in_body(cls, payload)
    for name in entries:
        delattr(cls, name)
    named = [
        name
        for name, annotation in annotations.items()
        if _is_class_variable(annotation) and name not in vars(cls) and name not in entries
    ]
    return named, entries


def entries_in_body(cls: type, payload: type | None) -> dict[str, EnumEntry]:
    """Return the declarations in the body of a class by name; see `declared_entries`."""
    annotations = own_annotations(cls)
    entries: dict[str, EnumEntry] = {}
    for name, value in vars(cls).items():
        if isinstance(value, EnumEntry):
            entries[name] = value
        elif payload is not None and _is_plain_value(name, value, annotations):
            entries[name] = EnumEntry((), {"value": value})
    return entries


def _is_plain_value(name: str, value: Any, annotations: dict[str, Any]) -> bool:
    if name.startswith("_") or not isinstance(value, (int, float, str, bytes)):
        return False
    return name not in annotations or _is_class_variable(annotations[name])


def _is_class_variable(annotation: Any) -> bool:
    text = getattr(annotation, "__forward_arg__", annotation)
    if isinstance(text, str):
        return _CLASS_VARIABLE.match(text.strip()) is not None
    return annotation is ClassVar or typing.get_origin(annotation) is ClassVar
