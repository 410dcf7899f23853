# SPDX-License-Identifier: Apache-2.0
"""Payloads, such as ``20``, for fields that are enumerations, such as ``Priority.high``.

Libraries that are compiled with the headers of this package convert payloads themselves.  Other
libraries only accept members, so the functions of this module convert the payloads that the
native function refuses.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .type_info import TypeField


def setter_for_payloads(entry: TypeField) -> Any:
    """Return the setter of a field, or a setter that converts payloads if the field takes them."""
    if entry.setter is None or not entry.takes_payloads:
        return entry.setter
    native = entry.setter

    def set_member(obj: Any, value: Any) -> None:
        try:
            native(obj, value)
        except TypeError:
            member = _member_or_value(entry, value)
            if member is value:
                raise
            native(obj, member)

    return set_member


def constructor_for_payloads(construct: Any, fields: list[TypeField], kwargs_marker: Any) -> Any:
    """Return the native constructor of a type, or a function that converts payloads for it.

    Parameters
    ----------
    construct : Function
        The native constructor, which has a parameter for each of the fields.
    fields : list of TypeField
        The fields in the order of the parameters.
    kwargs_marker : Object
        The argument that separates positional arguments from pairs of name and value.
    """
    if not any(entry.takes_payloads for entry in fields):
        return construct
    by_name = {entry.name: entry for entry in fields}

    def with_members(args: tuple[Any, ...]) -> list[Any]:
        positional = next((i for i, arg in enumerate(args) if arg is kwargs_marker), len(args))
        converted = list(args)
        for i, entry in zip(range(positional), fields):
            converted[i] = _member_or_value(entry, args[i])
        for i in range(positional + 2, len(args), 2):
            if args[i - 1] in by_name:
                converted[i] = _member_or_value(by_name[args[i - 1]], args[i])
        return converted

    def construct_with_members(*args: Any) -> Any:
        try:
            return construct(*args)
        except TypeError:
            converted = with_members(args)
            if all(map(operator.is_, converted, args)):
                raise
            return construct(*converted)

    return construct_with_members


def _member_or_value(entry: TypeField, value: Any) -> Any:
    """Return the member with the payload `value`, or `value` if it is not a payload."""
    try:
        return entry.normalize_value(value)
    except TypeError:
        return value
