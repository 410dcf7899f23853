# SPDX-License-Identifier: Apache-2.0
"""Conversion of Python values to the type of a schema, including all children of containers.

The result is a Python object whose native value has the declared type.  If no child of a container
changes, the container itself is returned, so that containers that are shared stay shared.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable

from .._binding.object import CObject, type_key_to_index
from .._binding.types import lookup_type_attr, type_metadata
from .._binding.values import CAny, to_py_class_value
from .._schema.names import ORIGIN_OF_KEY, is_known
from .builtin_classes import CLASS_OF_KEY
from .leaf_conversion import (
    LEAF_RULES,
    MismatchError,
    native_value,
    raise_mismatch,
    resolve_value_protocol,
    try_call,
    type_name_of,
)
from .type_index import index_of_origin

if TYPE_CHECKING:
    from .._schema.schema import Schema

Array, List, Map, Dict = (
    CLASS_OF_KEY[key] for key in ("ffi.Array", "ffi.List", "ffi.Map", "ffi.Dict")
)

# Classes that do not need a lookup of value protocols.
_PLAIN = frozenset({type(None), bool, int, float, str, bytes, list, tuple, dict})


def require_known_origins(schema: Schema) -> None:
    """Raise TypeError if the origin of a schema or type argument is not a registered type."""
    if schema.origin not in _RULES and not is_known(schema.origin, type_key_to_index):
        raise TypeError(f"unknown TypeSchema origin: {schema.origin!r}")
    for arg in schema.args or ():
        require_known_origins(arg)


def convert_value(schema: Schema, value: Any) -> Any:
    """Convert a value to the type of a schema; raise `MismatchError` on failure."""
    if type(value) not in _PLAIN:
        value = resolve_value_protocol(schema, value)
    rule = _RULES.get(schema.origin) or _RULES.get(ORIGIN_OF_KEY.get(schema.origin, ""))
    return rule(schema, value) if rule is not None else _to_class(schema, value)


def is_subtype(index: int, ancestor: int) -> bool:
    """Return True if the type `index` is `ancestor` or derives from it."""
    return index == ancestor or (index >= 0 and ancestor in _ancestors(index))


@functools.cache
def _ancestors(index: int) -> frozenset[int]:
    return frozenset(type_metadata(index)["type_ancestors"])


# ---- conversion to containers ----------------------------------------------------------------


def _to_sequence(cls: Any) -> Callable[[Schema, Any], Any]:
    """Return the function that converts values to the sequence class `cls`."""

    def rule(schema: Schema, value: Any) -> Any:
        if not isinstance(value, (list, tuple, Array, List)):
            raise_mismatch(schema, value)
        element = schema.args[0] if schema.args else None
        if element is None or element.origin == "Any":
            return _sequence_of_any(cls, value)
        items = list(value)
        return _sequence(cls, value, items, [element] * len(items))

    return rule


def _to_tuple(schema: Schema, value: Any) -> Any:
    if not isinstance(value, (list, tuple, Array, List)):
        raise_mismatch(schema, value)
    if schema.args is None:
        return _sequence_of_any(Array, value)
    items = list(value)
    if len(items) != len(schema.args):
        raise MismatchError(
            f"expected tuple of length {len(schema.args)}, "
            f"got {type(value).__name__} of length {len(items)}"
        )
    return _sequence(Array, value, items, schema.args)


def _sequence(cls: Any, value: Any, items: list[Any], declared: Iterable[Schema]) -> Any:
    converted = []
    for i, (element, item) in enumerate(zip(declared, items)):
        try:
            converted.append(convert_value(element, item))
        except MismatchError as mismatch:
            mismatch.add_step(f"element [{i}]")
            raise
    if isinstance(value, cls) and all(new is old for new, old in zip(converted, items)):
        return value
    return cls(converted)


def _sequence_of_any(cls: Any, value: Any) -> Any:
    """Convert all elements to `cls` in one call.

    If that fails, raise MismatchError for the first element that cannot be converted.
    """
    if isinstance(value, cls):
        return value
    items = list(value)
    sequence, error = try_call(cls, items)
    if error is None:
        return sequence
    for i, item in enumerate(items):
        _, reason = try_call(CAny, item)
        if reason is not None:
            raise MismatchError(
                f"element [{i}]: expected Any, got {type_name_of(item)}: {reason}"
            ) from error
    raise error


def _to_mapping(cls: Any) -> Callable[[Schema, Any], Any]:
    """Return the function that converts values to the mapping class `cls`."""

    def rule(schema: Schema, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise_mismatch(schema, value)
        if not schema.args:  # a schema without type arguments, for example one made from a type key
            return value if isinstance(value, cls) else cls(value)
        row: list[Any] = []
        is_same = isinstance(value, cls)
        for key, item in value.items():
            pair = _pair(schema.args, key, item)
            is_same = is_same and pair[0] is key and pair[1] is item
            row += pair
        return value if is_same else _mapping_of(cls, row)

    return rule


def _pair(declared: tuple[Schema, ...], key: Any, value: Any) -> tuple[Any, Any]:
    step = "key"
    try:
        new_key = convert_value(declared[0], key)
        step = "value for key"
        return new_key, convert_value(declared[1], value)
    except MismatchError as mismatch:
        mismatch.add_step(f"{step} {key!r}")
        raise


def _mapping_of(cls: Any, row: list[Any]) -> Any:
    """Return a `cls` made from ``[key, value, key, value, ...]``.

    Unlike the keys of a dict, these keys need not be hashable in Python.
    """
    mapping = cls.__new__(cls)
    mapping.__init_from_row__(row)
    return mapping


# ---- conversion to optional and union types --------------------------------------------------


def _to_optional(schema: Schema, value: Any) -> Any:
    assert schema.args
    return None if value is None else convert_value(schema.args[0], value)


def _to_first_of(schema: Schema, value: Any) -> Any:
    for alternative in schema.args or ():
        try:
            return convert_value(alternative, value)
        except MismatchError:
            continue
    return raise_mismatch(schema, value)


# ---- conversion to registered classes --------------------------------------------------------


def _to_class(schema: Schema, value: Any) -> Any:
    """Convert a value to a native type.

    Accept objects of the type and its subtypes; convert other values by the enumeration members or
    the hook ``__ffi_convert__`` of the type.
    """
    index = index_of_origin(ORIGIN_OF_KEY.get(schema.origin, schema.origin))
    native = native_value(schema, value)
    if is_subtype(native.type_index, index):
        return value if isinstance(value, CObject) else to_py_class_value(native)
    member = _enum_member(index, value)
    if member is not None:
        return member
    convert = lookup_type_attr(index, "__ffi_convert__")
    if convert is None:
        raise_mismatch(schema, value)
    converted, error = try_call(convert, value)
    if error is not None:
        text = str(error).replace("\n", "\n    ")
        raise_mismatch(schema, value, f"\n  __ffi_convert__ failed:\n    {text}", error)
    if not is_subtype(CAny(converted).type_index, index):
        raise_mismatch(schema, value)
    return converted


def _enum_member(index: int, value: Any) -> Any:
    """Return the member, with the payload `value`, of the enumeration type `index`.

    Return None if the type is not an enumeration or has no such member.
    """
    payload_type = _payload_type(index)
    if payload_type is None or not isinstance(value, payload_type):
        return None
    state = lookup_type_attr(index, "__ffi_enum__")
    if state is None:
        return None
    payload = int(value) if payload_type is int else str.__str__(value)
    return _members_getter()(state).get(payload)


@functools.cache
def _payload_type(index: int) -> type[int | str] | None:
    """Return the payload class, int or str, of an enumeration type; None for other types."""
    if is_subtype(index, index_of_origin("ffi.IntEnum")):
        return int
    return str if is_subtype(index, index_of_origin("ffi.StrEnum")) else None


@functools.cache
def _members_getter() -> Callable[[Any], Any]:
    """Return the getter of the field ``indexes`` of ``ffi.EnumState``.

    The field maps payloads and names to enumeration members.
    """
    state = type_metadata(index_of_origin("ffi.EnumState"))
    getter: Callable[[Any], Any] = next(
        field["getter"] for field in state["fields"] if field["name"] == "indexes"
    )
    return getter


def takes_payloads(origin: str) -> bool:
    """Return True if the type is an enumeration whose members have int or str payloads."""
    return _payload_type(index_of_origin(origin)) is not None


_RULES: dict[str, Callable[[Schema, Any], Any]] = {
    **LEAF_RULES,
    "Array": _to_sequence(Array),
    "Dict": _to_mapping(Dict),
    "List": _to_sequence(List),
    "Map": _to_mapping(Map),
    "Optional": _to_optional,
    "Union": _to_first_of,
    "dict": _to_mapping(Dict),
    "list": _to_sequence(List),
    "tuple": _to_tuple,
}
