# SPDX-License-Identifier: Apache-2.0
"""Field setters: store values of the declared type, and convert other values first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from .._binding.types import Refusal, plain_setter, rule_setter, type_metadata
from .._types import conversion
from .._types.leaf_conversion import MismatchError
from .._types.type_index import index_of_origin
from .field import Field, has_converter

if TYPE_CHECKING:
    from .._types.schema import TypeSchema
    from ..core import Function

_PLAIN = ("Any", "bool", "bytes", "ctypes.c_void_p", "Device", "dtype", "float", "int", "str")
_CONTAINERS = ("Array", "Dict", "List", "Map")


def setter_of(spec: Field) -> int | Function:
    """Return the native setter of a field: the address of a C function, or a function object."""
    schema = spec._ty_schema
    assert schema is not None
    convert = conversion_to(schema)
    if has_converter(spec):
        convert = _composed(spec.converter, convert)
        return rule_setter(schema.origin, convert, "nothing", 0, 0, False)
    address = plain_setter(schema.origin, convert)
    return address or rule_setter(schema.origin, convert, *_accepted(schema))


def conversion_to(schema: TypeSchema) -> Callable[[Any], Any]:
    """Return a function that converts a value to a declared type, or returns a `Refusal`."""
    conversion.require_known_origins(schema)

    def convert(value: Any) -> Any:
        try:
            return conversion.convert_value(schema, value)
        except MismatchError as mismatch:
            return Refusal(str(mismatch))

    return convert


def _composed(first: Callable[[Any], Any], then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: then(first(value))


def _accepted(schema: TypeSchema) -> tuple[str, int, int, bool]:
    """Return the arguments of `rule_setter`, which state the values to store without conversion.

    In a union, only values of the first type are stored without conversion, because the first type
    may convert a value that a later type would accept unchanged.
    """
    origin, args = schema.origin, schema.args or ()
    if origin == "Optional":
        return (*_accepted(args[0])[:3], True)
    if origin == "Union":
        return _accepted(args[0])
    if origin == "None":
        return "nothing", 0, 0, True
    if origin in ("str", "bytes", "Any"):
        return {"str": "text", "bytes": "bytes", "Any": "any"}[origin], 0, 0, origin == "Any"
    is_open = all(arg.origin == "Any" for arg in args)
    if origin in _PLAIN or origin in ("Callable", "Tensor") or (origin in _CONTAINERS and is_open):
        return "index", index_of_origin(origin), 0, False
    if origin == "tuple" and schema.args is None:
        return "index", index_of_origin("Array"), 0, False
    if origin == "tuple" or origin in _CONTAINERS:
        return "nothing", 0, 0, False
    index = index_of_origin(origin)
    return "instance", index, len(type_metadata(index)["type_ancestors"]), False
