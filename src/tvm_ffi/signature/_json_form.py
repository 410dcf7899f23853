# SPDX-License-Identifier: Apache-2.0
"""JSON form of signatures.

    {"version": 1, "name": ..., "parameters": [...], "results": [...], "dtype_variables": {...},
     "doc": ..., "non_blocking": ..., "errors": [...]}

Writers omit members that have their default value, and readers ignore unknown members. A change
that older readers would misinterpret increments the version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from .._schema.json_form import schema_from_json, schema_to_json
from .._schema.schema import Schema
from ._declaration import Declaration
from ._expression import Extent, extent_text
from ._parameter import EMPTY, Parameter, Result
from ._parsing import parse_extent
from ._types import ScalarType, TensorType, Type, ValueType

__all__ = ["VERSION", "signature_from_json", "signature_to_json"]

DeclarationT = TypeVar("DeclarationT", bound=Declaration)

VERSION = 1


def signature_to_json(signature: Declaration) -> dict[str, Any]:
    """Return the JSON object of a signature; `signature_from_json` converts the object back."""
    return {
        "version": VERSION,
        "name": signature.name,
        "parameters": [_parameter_to_json(parameter) for parameter in signature.parameters],
        "results": [
            {"type": _type_to_json(result.type), **_without_defaults(name=(result.name, None))}
            for result in signature.results
        ],
        **_without_defaults(
            dtype_variables=({n: list(t) for n, t in signature.dtype_variables.items()}, {}),
            doc=(signature.doc, None),
            non_blocking=(signature.non_blocking, False),
            errors=(list(signature.errors), []),
            unchecked=(signature.unchecked, False),
        ),
    }


def _without_defaults(**members: tuple[Any, Any]) -> dict[str, Any]:
    """Return the values that differ from their defaults; each member is a pair (value, default)."""
    return {name: value for name, (value, default) in members.items() if value != default}


def _parameter_to_json(parameter: Parameter) -> dict[str, Any]:
    obj: dict[str, Any] = {"name": parameter.name, "type": _type_to_json(parameter.type)}
    obj.update(
        _without_defaults(
            kind=(parameter.kind, "positional"),
            direction=(parameter.direction, "in"),
            doc=(parameter.doc, None),
        )
    )
    if parameter.default is not EMPTY:
        obj["default"] = _constant_to_json(parameter.default)
    return obj


def _type_to_json(type_: Type) -> dict[str, Any]:
    if isinstance(type_, ValueType):
        return {"value": schema_to_json(type_.schema)}
    if isinstance(type_, ScalarType):
        return {"scalar": type_.dtype, **_without_defaults(is_optional=(type_.is_optional, False))}
    shape = None if type_.shape is None else [_extent_to_json(extent) for extent in type_.shape]
    dtype = list(type_.dtype) if isinstance(type_.dtype, tuple) else type_.dtype
    return {
        "tensor": dtype,
        **_without_defaults(
            shape=(shape, None),
            layout=(type_.layout, None),
            device=(type_.device, None),
            is_pointer=(type_.is_pointer, False),
            is_optional=(type_.is_optional, False),
            alignment=(type_.alignment, None),
        ),
    }


def _extent_to_json(extent: Extent) -> int | str:
    return extent if isinstance(extent, int) else extent_text(extent)


def _constant_to_json(value: Any) -> Any:
    """Return a constant as JSON; bytes and floats become objects that keep the exact value."""
    if isinstance(value, tuple):
        return [_constant_to_json(part) for part in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float):
        # Write floats as text, because a JSON reader might parse 1.0 as an int or round a float.
        return {"float": repr(value)}
    return value


# ---- reading of JSON -----------------------------------------------------------------------------


def signature_from_json(obj: Mapping[str, Any] | str, make: type[DeclarationT]) -> DeclarationT:
    """Return the signature that a JSON object, or its JSON text, describes."""
    if isinstance(obj, str):
        try:
            obj = json.loads(obj)
        except json.JSONDecodeError as error:
            raise ValueError(f"the text of a signature is not JSON: {error}") from None
        except RecursionError:
            raise ValueError("the JSON of a signature is nested too deep") from None
    members = _Members(obj, "a signature")
    version = members.take("version", int)
    if version > VERSION:
        raise ValueError(
            f"expected signature version {VERSION} or older, got {version}; "
            "a newer release wrote the signature"
        )
    variables = _Members(members.take("dtype_variables", dict, {}), "dtype_variables")
    try:
        return make(
            tuple(map(_parameter_from_json, members.take("parameters", list))),
            tuple(map(_result_from_json, members.take("results", list, []))),
            members.take("name", str, ""),
            {name: tuple(variables.take(name, list)) for name in variables.names()},
            members.take("doc", str, None),
            members.take("non_blocking", bool, False),
            tuple(members.take("errors", list, [])),
            members.take("unchecked", bool, False),
        )
    except RecursionError:
        raise ValueError("the JSON of a signature is nested too deep") from None


class _Members:
    """Access to the members of a JSON object, with type checks."""

    def __init__(self, obj: Any, subject: str) -> None:
        if not isinstance(obj, Mapping):
            raise TypeError(f"{subject} in JSON must be an object, got {type(obj).__name__}")
        self._obj, self._subject = obj, subject

    def names(self) -> list[str]:
        return list(self._obj)

    def __contains__(self, name: str) -> bool:
        return name in self._obj

    def take(self, name: str, cls: type | tuple[type, ...], *default: Any) -> Any:
        """Return a member after a type check, or the default if it is missing."""
        if name not in self._obj and default:
            return default[0]
        value = self._obj.get(name)
        if not isinstance(value, cls) or (isinstance(value, bool) and cls is int):
            expected = (
                cls.__name__ if isinstance(cls, type) else " or ".join(c.__name__ for c in cls)
            )
            raise TypeError(
                f"member '{name}' of {self._subject} in JSON must be of type {expected}, "
                f"got {type(value).__name__}"
            )
        return value


def _parameter_from_json(obj: Any) -> Parameter:
    members = _Members(obj, "a parameter")
    default = _constant_from_json(obj["default"], 0) if "default" in members else EMPTY
    return Parameter(
        members.take("name", str),
        _type_from_json(members.take("type", dict)),
        members.take("kind", str, "positional"),
        default,
        members.take("direction", str, "in"),
        members.take("doc", str, None),
    )


def _result_from_json(obj: Any) -> Result:
    members = _Members(obj, "a result")
    return Result(_type_from_json(members.take("type", dict)), members.take("name", str, None))


def _type_from_json(obj: Any) -> Type:
    members = _Members(obj, "a type")
    if "value" in members:
        return ValueType(schema_from_json(obj["value"], Schema))
    is_optional = members.take("is_optional", bool, False)
    if "scalar" in members:
        return ScalarType(members.take("scalar", str), is_optional)
    if "tensor" not in members:
        raise ValueError(
            "a type in JSON must have one of the members 'value', 'scalar' and 'tensor', "
            f"got {', '.join(members.names()) or 'none'}"
        )
    dtype = members.take("tensor", (str, list, type(None)))
    shape = members.take("shape", list, None)
    return TensorType(
        tuple(dtype) if isinstance(dtype, list) else dtype,
        None if shape is None else tuple(map(_extent_from_json, shape)),
        members.take("layout", str, None),
        members.take("device", str, None),
        members.take("is_pointer", bool, False),
        is_optional,
        members.take("alignment", int, None),
    )


def _extent_from_json(extent: Any) -> Extent:
    return parse_extent(extent) if isinstance(extent, str) else extent


def _constant_from_json(value: Any, depth: int) -> Any:
    if isinstance(value, list):
        return tuple(_constant_from_json(part, depth + 1) for part in value)
    if not isinstance(value, dict):
        return value
    members = _Members(value, "a default")
    if "bytes" in members:
        return bytes.fromhex(members.take("bytes", str))
    return float(members.take("float", str))
