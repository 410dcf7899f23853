# SPDX-License-Identifier: Apache-2.0
"""Text form of signatures, and `inspect.signature`."""

from __future__ import annotations

import inspect
from typing import Any

from .._schema.printing import TypePrinter
from ._declaration import Declaration
from ._expression import extent_text
from ._parameter import EMPTY, KINDS, Parameter, Result
from ._types import ScalarType, TensorType, Type

__all__ = ["constant_text", "inspect_signature", "result_text", "signature_text", "type_text"]

_PRINTER = TypePrinter(name_of=lambda origin: "Shape" if origin == "ffi.Shape" else origin)


def signature_text(signature: Declaration) -> str:
    """Return the text of a signature; `parse_signature` converts the text to an equal signature."""
    text = f"{signature.name}({', '.join(_parameters(signature))})"
    if signature.results:
        text += f" -> {result_text(signature.results)}"
    if signature.dtype_variables:
        variables = signature.dtype_variables.items()
        text += " where " + ", ".join(f"{name} in ({', '.join(ts)})" for name, ts in variables)
    if signature.errors:
        text += f" raises {', '.join(signature.errors)}"
    if signature.non_blocking:
        text += " non_blocking"
    if signature.unchecked:
        text += " unchecked"
    if signature.doc is not None:
        text += f" doc {constant_text(signature.doc)}"
    return text


def _parameters(signature: Declaration) -> list[str]:
    listed = []
    previous = ""
    for parameter in signature.parameters:
        if previous == "positional-only" != parameter.kind:
            listed.append("/")
        if parameter.kind == "keyword-only" and previous not in ("keyword-only", "variadic"):
            listed.append("*")
        listed.append(_parameter_text(parameter))
        previous = parameter.kind
    return [*listed, "/"] if previous == "positional-only" else listed


def _parameter_text(parameter: Parameter) -> str:
    star = "*" if parameter.kind == "variadic" else ""
    direction = "" if parameter.direction == "in" else f"{parameter.direction} "
    default = "" if parameter.default is EMPTY else f" = {constant_text(parameter.default)}"
    return f"{star}{parameter.name}: {direction}{type_text(parameter.type)}{default}"


def result_text(results: tuple[Result, ...]) -> str:
    """Return the text of the results, for use after ``->`` in a signature."""
    if not results:
        return "None"
    if len(results) == 1 and results[0].name is None:
        return type_text(results[0].type)
    texts = [
        type_text(result.type)
        if result.name is None
        else f"{result.name}: {type_text(result.type)}"
        for result in results
    ]
    return f"({', '.join(texts)})"


def type_text(type_: Type) -> str:
    """Return the text of a type in a signature."""
    if isinstance(type_, ScalarType):
        text = type_.dtype
    elif isinstance(type_, TensorType):
        text = _tensor_text(type_)
    else:
        return _PRINTER.text(type_.schema)
    return f"{text} | None" if type_.is_optional else text


def _tensor_text(type_: TensorType) -> str:
    if isinstance(type_.dtype, tuple):
        text = f"{{{', '.join(type_.dtype)}}}"
    else:
        text = type_.dtype or "Tensor"
    text += "*" if type_.is_pointer else ""
    if type_.shape is not None:
        text += f"[{', '.join(map(extent_text, type_.shape))}]"
    elif type_.variable is not None or (type_.dtype is not None and not type_.is_pointer):
        text += "[...]"
    text += f" {type_.layout}" if type_.layout else ""
    text += f" align {type_.alignment}" if type_.alignment else ""
    return f"{text} on {type_.device}" if type_.device else text


def constant_text(value: Any) -> str:
    """Return the text of a default in a signature."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(constant_text, value))}]"
    return repr(value)


def inspect_signature(signature: Declaration) -> inspect.Signature:
    """Return the `inspect.Signature` of the function; annotations are text."""
    parameters = [
        inspect.Parameter(
            parameter.name,
            KINDS[parameter.kind],
            default=inspect.Parameter.empty if parameter.default is EMPTY else parameter.default,
            annotation=type_text(parameter.type),
        )
        for parameter in signature.parameters
    ]
    return inspect.Signature(parameters, return_annotation=result_text(signature.results))
