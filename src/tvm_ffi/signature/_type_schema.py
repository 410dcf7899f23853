# SPDX-License-Identifier: Apache-2.0
"""Conversion between signatures and function types; function types have no parameter names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from .._schema.dtypes import integer_range
from .._schema.json_form import declared_function
from .._schema.printing import TypePrinter
from .._schema.schema import Schema
from ._declaration import Declaration
from ._parameter import UNKNOWN, Parameter, Result
from ._parsing import parse_signature
from ._types import TensorType, Type, ValueType, is_writable

__all__ = [
    "check_name",
    "schema_of_signature",
    "schema_of_type",
    "signature_from_metadata",
    "signature_from_schema",
    "type_of_schema",
]

DeclarationT = TypeVar("DeclarationT", bound=Declaration)

_PRINTER = TypePrinter()


def schema_of_signature(signature: Declaration) -> Schema:
    """Return the function type of a signature."""
    groups: dict[str, tuple[Schema, ...]] = {"return": (_schema_of_results(signature.results),)}
    if all(parameter.kind != "variadic" for parameter in signature.parameters):
        groups["params"] = tuple(
            schema_of_type(parameter.type) for parameter in signature.parameters
        )
    return Schema("Callable", named_args=groups)


def _schema_of_results(results: tuple[Result, ...]) -> Schema:
    if len(results) == 1:
        return schema_of_type(results[0].type)
    if not results:
        return Schema("None")
    return Schema("tuple", tuple(schema_of_type(result.type) for result in results))


def schema_of_type(type_: Type) -> Schema:
    """Return the schema of an argument type; extents and dtypes are lost."""
    if isinstance(type_, ValueType):
        return type_.schema
    if isinstance(type_, TensorType):
        schema = Schema("Tensor")
    else:
        schema = Schema("float" if integer_range(type_.dtype) is None else "int")
    return Schema("Optional", (schema,)) if type_.is_optional else schema


def signature_from_schema(schema: Schema, name: str, make: type[DeclarationT]) -> DeclarationT:
    """Return the signature of a function type."""
    if schema.origin != "Callable":
        raise ValueError(f"expected a function type, got the type {schema.origin}")
    groups = schema.named_args or {"return": (Schema("Any"),)}
    if "params" in groups:
        parameters = tuple(
            _parameter(f"_{i}", param, "positional-only")
            for i, param in enumerate(groups["params"])
        )
    else:
        parameters = (_parameter("args", Schema("Any"), "variadic"),)
    return make(parameters, (Result(type_of_schema(groups["return"][0])),), name)


def _parameter(name: str, schema: Schema, kind: str) -> Parameter:
    type_ = type_of_schema(schema)
    return Parameter(name, type_, kind, direction=UNKNOWN if is_writable(type_) else "in")


def type_of_schema(schema: Schema) -> Type:
    """Return the argument type that a schema describes."""
    is_optional = schema.origin == "Optional"
    inner = schema.args[0] if is_optional and schema.args else schema
    return TensorType(is_optional=is_optional) if inner.origin == "Tensor" else ValueType(schema)


def signature_from_metadata(
    metadata: Mapping[str, Any], name: str, make: type[DeclarationT]
) -> DeclarationT | None:
    """Return the signature in a function's metadata; None if the metadata has no signature."""
    text = metadata.get("signature")
    if text is None:
        schema = declared_function(metadata, Schema)
        return None if schema is None else signature_from_schema(schema, name, make)
    if not isinstance(text, str):
        raise ValueError(
            f"member 'signature' of the metadata must be a str, got {type(text).__name__}"
        )
    signature = parse_signature(text, make)
    if metadata.get("unchecked") is True:  # the library was built without checks
        signature = replace(signature, unchecked=True)
    schema = declared_function(metadata, Schema)
    if schema is not None and "params" in (schema.named_args or {}):
        _check_fit(signature, text, schema)
        signature = _with_declared_types(signature, signature_from_schema(schema, name, make))
    return signature if signature.name else replace(signature, name=name)


def _with_declared_types(signature: DeclarationT, declared: DeclarationT) -> DeclarationT:
    """Return a signature in which parameters ``unknown Any`` have the types of the function.

    C++ registers such signatures, which add names and defaults to the types.
    """
    if not any(map(_is_undeclared, signature.parameters)):
        return signature
    parameters = tuple(
        replace(parameter, type=typed.type, direction=typed.direction)
        if _is_undeclared(parameter)
        else parameter
        for parameter, typed in zip(signature.parameters, declared.parameters)
    )
    is_open = [result.type for result in signature.results] == [type_of_schema(Schema("Any"))]
    results = declared.results if is_open else signature.results
    return replace(signature, parameters=parameters, results=results)


def _is_undeclared(parameter: Parameter) -> bool:
    type_ = parameter.type
    is_any = isinstance(type_, ValueType) and type_.schema.origin == "Any"
    return is_any and parameter.direction == UNKNOWN and parameter.kind != "variadic"


def check_name(signature: Declaration, name: str) -> None:
    """Raise ValueError if a signature belongs to a function with another name.

    Either name may have more qualifiers: ``f`` may be registered as ``my.f``.
    """
    own, required = (text.replace("::", ".") for text in (signature.name, name))
    if (
        own
        and own != required
        and not required.endswith(f".{own}")
        and not own.endswith(f".{required}")
    ):
        raise ValueError(
            f"the signature belongs to function '{signature.name}', not to function '{name}'"
        )


# ---- Consistency of a signature with the function's type -----------------------------------------

# Mutually exclusive categories of parameter types; types such as Any have no category.
_CATEGORIES = {
    "Tensor": "a tensor",
    "DLTensor*": "a tensor",
    "int": "a number",
    "float": "a number",
    "bool": "a number",
    "str": "a string",
}


def _check_fit(signature: Declaration, text: str, schema: Schema) -> None:
    """Raise ValueError if the type of the function contradicts the signature."""
    declared = (schema.named_args or {})["params"]
    problem = _mismatch(signature.parameters, declared)
    if problem:
        raise ValueError(
            f"{problem}: the signature is {text!r}, the type of the function "
            f"{_PRINTER.signature(schema)!r}"
        )


def _mismatch(parameters: tuple[Parameter, ...], declared: tuple[Schema, ...]) -> str | None:
    if any(parameter.kind == "variadic" for parameter in parameters):
        return None
    if len(parameters) != len(declared):
        return (
            f"the signature has {len(parameters)} parameters, but the function has {len(declared)}"
        )
    for parameter, schema in zip(parameters, declared):
        declared_as, actual = _category_of(schema_of_type(parameter.type)), _category_of(schema)
        if declared_as and actual and declared_as != actual:
            name = parameter.name
            return (
                f"parameter '{name}' is {declared_as} in the signature, "
                f"but {actual} in the function's type"
            )
    return None


def _category_of(schema: Schema) -> str | None:
    return _CATEGORIES.get(schema.origin)
