# SPDX-License-Identifier: Apache-2.0
"""Conversion of dataclasses to tuples, which can be passed to native functions."""

from __future__ import annotations

import dataclasses
import operator
import threading
import typing
import weakref
from typing import Any, Callable

__all__ = ["UNPACK", "unpack_dataclass_to_tuple"]

UNPACK = "unpack"

# Leaf types: types whose values cannot contain dataclasses.  Fields of leaf types are not searched.
_LEAVES = frozenset({bool, bytes, complex, float, int, str, type(None)})


class _Unpackers(threading.local):
    """Cache of unpacking functions by class; each thread has its own, so it needs no lock."""

    def __init__(self) -> None:
        self.by_class: weakref.WeakKeyDictionary[type, Callable[[Any], tuple[Any, ...]]] = (
            weakref.WeakKeyDictionary()
        )


_unpackers = _Unpackers()


def unpack_dataclass_to_tuple(x: Any) -> Any:
    """Return a value in which each dataclass is replaced by the tuple of its fields.

    Parameters
    ----------
    x : object
        Any value.  Dataclasses are also replaced in lists, tuples, named tuples and values of
        dicts, at any depth.

    Returns
    -------
    object
        The value with new containers, where a dict subclass becomes a dict; values of other types
        are returned unchanged.

    Examples
    --------
    >>> import dataclasses
    >>> from tvm_ffi.utils.unpack_dataclass import unpack_dataclass_to_tuple
    >>> Point = dataclasses.make_dataclass("Point", [("x", int), ("y", int)])
    >>> unpack_dataclass_to_tuple({"corners": [Point(0, 0), Point(2, 3)]})
    {'corners': [(0, 0), (2, 3)]}
    """
    cls = type(x)
    if cls in _LEAVES:
        return x
    if hasattr(cls, "__dataclass_fields__"):
        unpack = _unpackers.by_class.get(cls)
        if unpack is None:
            unpack = _unpackers.by_class[cls] = _unpacker_of(cls)
        return unpack(x)
    if isinstance(x, (list, tuple)):
        parts = [unpack_dataclass_to_tuple(part) for part in x]
        if cls is list:
            return parts
        return cls(*parts) if hasattr(cls, "_fields") else cls(parts)
    if isinstance(x, dict):
        return {key: unpack_dataclass_to_tuple(part) for key, part in x.items()}
    return x


def _unpacker_of(cls: type) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that unpacks objects of a dataclass; it skips fields of leaf types."""
    declared = _declared_types(cls)
    names = [field.name for field in dataclasses.fields(cls)]
    deep = [i for i, name in enumerate(names) if not _is_leaf(declared[name])]
    if not names:
        return lambda x: ()
    get = operator.attrgetter(*names)
    values_of = get if len(names) > 1 else lambda x: (get(x),)
    if not deep:
        return values_of

    def unpack(x: Any) -> tuple[Any, ...]:
        values = list(values_of(x))
        for i in deep:
            values[i] = unpack_dataclass_to_tuple(values[i])
        return tuple(values)

    return unpack


def _declared_types(cls: type) -> dict[str, Any]:
    """Return the declared types of fields; annotations that cannot be evaluated stay strings."""
    declared = {field.name: field.type for field in dataclasses.fields(cls)}
    try:
        resolved = typing.get_type_hints(cls)
    except Exception:  # evaluating third-party annotations may raise any exception
        return declared
    return {name: resolved.get(name, type_) for name, type_ in declared.items()}


def _is_leaf(declared: Any) -> bool:
    members = typing.get_args(declared)
    if members and _is_union(declared):
        return all(_is_leaf(member) for member in members)
    return isinstance(declared, type) and declared in _LEAVES


def _is_union(declared: Any) -> bool:
    origin = typing.get_origin(declared)
    return origin is typing.Union or getattr(origin, "__name__", "") == "UnionType"
