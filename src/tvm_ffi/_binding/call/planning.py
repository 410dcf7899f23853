# SPDX-License-Identifier: Apache-2.0
"""Plans of calls, made from signatures; loaded with the first function that has one."""

from __future__ import annotations

import sys
from typing import Any, Callable

from tvm_ffi._binding.call.call_plan import (
    DIRECTIONS,
    NO_DEFAULT,
    CallPlan,
    container_converter,
)
from tvm_ffi._binding.values.any import CAny, to_py_class_value
from tvm_ffi._binding.values.device import device_class
from tvm_ffi._binding.values.dtype import DataType
from tvm_ffi.signature import EMPTY, Parameter, ScalarType, Signature, ValueType
from tvm_ffi.signature._metadata import named_signature, parsed_metadata, warn_damaged
from tvm_ffi.signature._types import Type

__all__ = ["call_plan", "plan_of_metadata"]

_CONTAINERS = ("Array", "List", "Map", "Dict")


def plan_of_metadata(text: str, name: str, library: str) -> CallPlan | None:
    """Return the plan of a function that its metadata describe; None when they have no signature.

    Metadata that cannot be read are a warning, and no plan.
    """
    try:
        metadata = parsed_metadata(text)
    except (TypeError, ValueError) as error:
        warn_damaged(name, library, error)
        return None
    signature = named_signature(metadata, name, library)
    return None if signature is None else call_plan(signature)


def call_plan(signature: Signature) -> CallPlan:
    """Return the plan of calls of a function with this signature."""
    by_name = [one for one in signature.parameters if one.kind != "variadic"]
    return CallPlan(
        signature,
        tuple(sys.intern(one.name) for one in by_name),
        tuple(map(_default_of, by_name)),
        tuple(_converter_of(one.type) for one in by_name),
        bytes(DIRECTIONS.index(one.direction) for one in by_name),
        sum(one.kind == "positional-only" for one in by_name),
        sum(one.kind != "keyword-only" for one in by_name),
        len(by_name) != len(signature.parameters),
    )


def _default_of(parameter: Parameter) -> Any:
    """Return the default as it is packed soonest."""
    default = parameter.default
    if default is EMPTY:
        return NO_DEFAULT
    if isinstance(default, tuple):
        return to_py_class_value(CAny(default))
    if isinstance(default, str):
        origin = _plain_origin(parameter.type)
        if origin == "dtype":
            return DataType(default)
        if origin == "Device":
            return device_class()(default)
    return default


def _converter_of(type_: Type) -> Callable[[Any], Any] | None:
    """Return float and str for those, what converts a list or dict to a container, or None."""
    origin = _plain_origin(type_)
    if origin == "float":
        return float
    if origin == "str":
        return str
    if origin not in _CONTAINERS:
        return None
    schema = type_.schema  # type: ignore[union-attr]  # only values have an origin
    inner = schema.args[0] if schema.origin == "Optional" and schema.args else schema
    if all(arg.origin == "Any" for arg in inner.args or ()):
        return None
    return container_converter(inner)


def _plain_origin(type_: Type) -> str | None:
    """Return the origin of a value's type, without None beside it."""
    if isinstance(type_, ScalarType):
        return "float" if type_.dtype.startswith("float") else None
    if not isinstance(type_, ValueType):
        return None
    schema = type_.schema
    return schema.args[0].origin if schema.origin == "Optional" and schema.args else schema.origin
