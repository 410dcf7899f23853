# SPDX-License-Identifier: Apache-2.0
"""Default values of parameters: conversion to the declared type, and comparison."""

from __future__ import annotations

from typing import Any

from .._schema.dtypes import fits, integer_range
from .._schema.schema import Schema
from .._schema.utf8 import checked_utf8
from ._literals import builtin_value
from ._types import ScalarType, TensorType, Type

__all__ = ["checked_default", "same_default"]

_INT64 = (-(2**63), 2**63 - 1)
_MAX_DEPTH = 20
# Largest number of comparisons between the elements of a default and types: a base number plus a
# number per element. The limit prevents denial of service, because each alternative of a union type
# visits all elements of a list.
_MAX_COMPARISONS, _COMPARISONS_PER_PART = 1000, 8
_SEQUENCES = ("Array", "List", "list", "tuple", "ffi.Shape")


def checked_default(name: str, type_: Type, default: Any) -> Any:
    """Return the default of a parameter, converted to its declared type.

    An int becomes a float if the type is a float, a list becomes a tuple, and an instance of a
    derived class, such as an enum member, becomes an instance of its built-in base class.

    Raises
    ------
    TypeError
        If the type does not accept the default.
    ValueError
        If a number is out of range.
    """
    where = f"default of parameter '{name}'"
    default = builtin_value(default)
    if isinstance(type_, TensorType):
        if default is None and type_.is_optional:
            return None
        remedy = "" if type_.is_optional else "; write '| None' after the type to allow it"
        raise TypeError(f"{where}: the only default of a tensor is None{remedy}")
    if isinstance(type_, ScalarType):
        return None if default is None and type_.is_optional else _scalar(where, type_, default)
    found = _DefaultConverter(where).value(type_.schema, default, 0)
    if found is _NO_MATCH:
        raise TypeError(f"{where}: expected {_schema_text(type_.schema)}, got {default!r}")
    return found


def same_default(left: Any, right: Any) -> bool:
    """Return True if two defaults have the same class and value; NaN and NaN are the same."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same_default, left, right))
    # Compare floats by `repr`, because `repr` distinguishes 0.0 from -0.0 but not NaN from NaN.
    return repr(left) == repr(right) if isinstance(left, float) else bool(left == right)


def _scalar(where: str, type_: ScalarType, default: Any) -> Any:
    is_integer = integer_range(type_.dtype) is not None
    if isinstance(default, int) and not isinstance(default, bool) and not is_integer:
        default = _float(where, default)
    if isinstance(default, bool) or not isinstance(default, int if is_integer else float):
        raise TypeError(f"{where}: expected {type_.dtype}, got {default!r}")
    if not fits(default, type_.dtype):
        raise ValueError(f"{where}: {default} does not fit {type_.dtype}")
    return default


_NO_MATCH = object()


class _DefaultConverter:
    """Converts a default to its declared `ValueType`, with a limited number of comparisons."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._remaining = _MAX_COMPARISONS
        self._counted: set[int] = set()  # ids of lists that have been added to `_remaining`

    def value(self, schema: Schema, default: Any, depth: int) -> Any:
        """Return a default converted to a type; `_NO_MATCH` if the type does not accept it."""
        self._count(default, depth)
        origin, args = schema.origin, schema.args or ()
        if origin in ("Union", "Optional"):
            options = [*args, Schema("None")] if origin == "Optional" else args
            # Prefer the alternative with the default's class: with `int | float`, 1 stays an int.
            found = [self.value(option, default, depth + 1) for option in options]
            found = [value for value in found if value is not _NO_MATCH]
            exact = [value for value in found if type(value) is type(default)]
            return (exact or found or [_NO_MATCH])[0]
        if isinstance(default, (list, tuple)):
            return self._sequence(origin, args, default, depth)
        return _plain(origin, default, self._where)

    def _count(self, default: Any, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise ValueError(f"{self._where}: the value is nested deeper than {_MAX_DEPTH} levels")
        if isinstance(default, (list, tuple)) and id(default) not in self._counted:
            self._counted.add(id(default))
            self._remaining += _COMPARISONS_PER_PART * len(default)
        self._remaining -= 1
        if self._remaining < 0:
            raise ValueError(f"{self._where}: the parameter's type has too many alternatives")

    def _sequence(self, origin: str, args: tuple[Schema, ...], default: Any, depth: int) -> Any:
        if origin not in (*_SEQUENCES, "Any"):
            return _NO_MATCH
        element = Schema("int") if origin == "ffi.Shape" else Schema("Any")
        if origin == "tuple" and args:
            if len(args) != len(default):
                return _NO_MATCH
            items = args
        else:
            items = (args[0] if args else element,) * len(default)
        values = tuple(self.value(item, part, depth + 1) for item, part in zip(items, default))
        return _NO_MATCH if _NO_MATCH in values else values


_CLASSES: dict[str, type] = {"bool": bool, "str": str, "bytes": bytes, "dtype": str, "Device": str}


def _plain(origin: str, default: Any, where: str) -> Any:
    default = builtin_value(default)
    if not (default is None or isinstance(default, (bool, int, float, str, bytes))):
        return _NO_MATCH
    if isinstance(default, str):
        checked_utf8(default, where)
    if isinstance(default, int) and not isinstance(default, bool):
        if not _INT64[0] <= default <= _INT64[1]:
            raise ValueError(f"{where}: {default} does not fit 64 bits")
        if origin in ("int", "Any"):
            return default
        return float(default) if origin == "float" else _NO_MATCH
    if origin == "Any":
        return default
    if default is None:
        return None if origin == "None" else _NO_MATCH
    if isinstance(default, float):
        return default if origin == "float" else _NO_MATCH
    return default if type(default) is _CLASSES.get(origin) else _NO_MATCH


def _float(where: str, default: int) -> float:
    try:
        return float(default)
    except OverflowError:
        raise ValueError(f"{where}: {default} does not fit a float") from None


def _schema_text(schema: Schema) -> str:
    from .._schema.printing import TypePrinter

    return TypePrinter().text(schema)
