# SPDX-License-Identifier: Apache-2.0
"""Signatures derived from the annotations of Python functions, jaxtyping included."""

from __future__ import annotations

import inspect
import typing
from dataclasses import replace
from typing import Any, Callable, TypeVar

from .._schema.dtypes import is_dtype_name
from .._schema.schema import Schema
from ._declaration import Declaration
from ._expression import Extent
from ._parameter import EMPTY, KINDS, UNKNOWN, Parameter, Result
from ._parsing import parse_annotation, parse_extent
from ._type_schema import type_of_schema
from ._types import ANY_EXTENT, ELLIPSIS, TensorType, Type, ValueType, is_writable

__all__ = ["signature_from_function", "signature_from_inspect"]

DeclarationT = TypeVar("DeclarationT", bound=Declaration)

_NAME_OF_KIND = {kind: name for name, kind in KINDS.items()}


def signature_from_function(function: Callable[..., Any], make: type[DeclarationT]) -> DeclarationT:
    """Return the signature that a function's annotations declare."""
    try:
        hints = _hints_of(function)
    except NameError as error:
        raise TypeError(f"an annotation of {function!r} cannot be read: {error}") from error
    found = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=hints.get(name, parameter.annotation))
        for name, parameter in found.parameters.items()
    ]
    result = hints.get("return", found.return_annotation)
    made = signature_from_inspect(
        found.replace(parameters=parameters, return_annotation=result),
        getattr(function, "__name__", ""),
        make,
    )
    doc = inspect.getdoc(function)
    return replace(made, doc=doc)


def _hints_of(function: Any) -> dict[str, Any]:
    target = function if hasattr(function, "__annotations__") else type(function).__call__
    if not hasattr(target, "__annotations__"):
        return {}
    if "include_extras" in inspect.signature(typing.get_type_hints).parameters:
        return typing.get_type_hints(target, include_extras=True)
    return typing.get_type_hints(target)


def signature_from_inspect(
    signature: inspect.Signature, name: str, make: type[DeclarationT]
) -> DeclarationT:
    """Return the signature that corresponds to an `inspect.Signature`."""
    parameters = tuple(map(_parameter, signature.parameters.values()))
    annotation = signature.return_annotation
    _, result = _read(Any if annotation is inspect.Signature.empty else annotation)
    # Omit a name that a signature cannot have, such as `<lambda>`.
    return make(parameters, (Result(result),), name if name.isidentifier() else "")


def _parameter(parameter: inspect.Parameter) -> Parameter:
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        raise TypeError(
            f"parameter '**{parameter.name}': a signature must declare each keyword parameter"
        )
    annotation, default = parameter.annotation, parameter.default
    try:
        direction, type_ = _read(Any if annotation is inspect.Parameter.empty else annotation)
    except (TypeError, ValueError) as error:
        raise TypeError(f"annotation of parameter '{parameter.name}': {error}") from error
    if direction is None:
        direction = UNKNOWN if is_writable(type_) else "in"
    kind = _NAME_OF_KIND[parameter.kind]
    default = EMPTY if default is inspect.Parameter.empty else default
    return Parameter(parameter.name, type_, kind, default, direction)


def _read(annotation: Any) -> tuple[str | None, Type]:
    """Return a pair: the direction (None if undeclared) and the type in an annotation."""
    if isinstance(annotation, str):
        return parse_annotation(annotation)
    for text in getattr(annotation, "__metadata__", ()):  # of typing.Annotated
        if isinstance(text, str):
            return parse_annotation(text)
    if hasattr(annotation, "__metadata__"):
        return _read(typing.get_args(annotation)[0])
    if _is_jaxtyping(annotation):
        return None, _jaxtyping_tensor(annotation)
    inner = _without_none(annotation)
    if inner is not None and (hasattr(inner, "__metadata__") or _is_jaxtyping(inner)):
        direction, type_ = _read(inner)
        return direction, _optional(type_)
    from .._types.annotation import schema_of_annotation

    return None, type_of_schema(schema_of_annotation(annotation, Schema))


def _without_none(annotation: Any) -> Any:
    """Return `T` for the annotation ``T | None``; None for any other annotation."""
    members = typing.get_args(annotation)
    if len(members) == 2 and type(None) in members:
        return members[0] if members[1] is type(None) else members[1]
    return None


def _optional(type_: Type) -> Type:
    if isinstance(type_, ValueType):
        return ValueType(Schema("Optional", (type_.schema,)))
    return replace(type_, is_optional=True)


# ---- jaxtyping annotations -----------------------------------------------------------------------


def _is_jaxtyping(annotation: Any) -> bool:
    return all(hasattr(annotation, name) for name in ("dim_str", "dtypes", "array_type"))


def _jaxtyping_tensor(annotation: Any) -> TensorType:
    dtypes = annotation.dtypes
    names = tuple(name for name in dtypes if isinstance(name, str) and is_dtype_name(name))
    shape = tuple(_jaxtyping_extent(token) for token in annotation.dim_str.split())
    return TensorType(names[0] if len(names) == 1 else names or None, shape)


def _jaxtyping_extent(token: str) -> Extent:
    if token == ELLIPSIS or token.startswith("*"):
        name = token.removeprefix("*")
        has_name = name.isidentifier() and not name.startswith("_")
        return f"*{name}" if has_name else ELLIPSIS
    # jaxtyping marks broadcastable dimensions with #, unchecked dimensions with _.
    if token.startswith(("#", "_")):
        return ANY_EXTENT
    _, _, token = token.rpartition("=")  # in `name=4`, jaxtyping ignores the name
    return parse_extent(token)
