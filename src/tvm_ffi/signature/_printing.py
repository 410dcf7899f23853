# SPDX-License-Identifier: Apache-2.0
"""Text form of signatures, and `inspect.signature`."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from .._schema.printing import TypePrinter
from ._declaration import Declaration
from ._expression import extent_text
from ._parameter import EMPTY, KINDS, Parameter, Result
from ._types import ScalarType, TensorType, Type

__all__ = [
    "accepted_text",
    "constant_text",
    "documentation",
    "inspect_signature",
    "result_text",
    "signature_text",
    "type_text",
]

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
    for parameter in signature.parameters:
        if parameter.doc is not None:
            text += f" doc {parameter.name} {constant_text(parameter.doc)}"
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


# ---- forms for callers ---------------------------------------------------------------------------


def type_for_callers(type_: Type, dtypes: tuple[str, ...] | None = None) -> Type:
    """Return a type with the same condition on arguments, but without details of the callee.

    Parameters
    ----------
    type_ : TensorType, ScalarType or ValueType
        A tensor that is passed by address (``float32*[n]``) becomes a compact tensor.
    dtypes : tuple of str, optional
        Dtypes in place of the dtype variable of a tensor.
    """
    if not isinstance(type_, TensorType) or not (type_.is_pointer or type_.variable):
        return type_
    layout = "compact" if type_.is_pointer and type_.layout is None else type_.layout
    dtype: str | tuple[str, ...] | None = type_.dtype
    if type_.variable is not None and dtypes:
        dtype = dtypes if len(dtypes) > 1 else dtypes[0]
    return replace(type_, dtype=dtype, layout=layout, is_pointer=False)


def argument_text(signature: Declaration, parameter: Parameter) -> str:
    """Return the type that callers see, after ``out`` or ``inout`` if the parameter is written."""
    return (f"{parameter.direction} " if parameter.is_written else "") + accepted_text(
        signature, parameter.type
    )


def accepted_text(signature: Declaration, type_: Type) -> str:
    """Return the text of a type for callers, with dtypes in place of a dtype variable."""
    return type_text(type_for_callers(type_, _dtypes_of(signature, type_)))


def _dtypes_of(signature: Declaration, type_: Type) -> tuple[str, ...] | None:
    return signature.dtypes_of(type_) if isinstance(type_, TensorType) else None


def documentation(signature: Declaration, *, line: str = "{}") -> str:
    """Return the documentation of a function: its text, its parameters, and the signature.

    Parameters
    ----------
    signature : Declaration
        The signature.
    line : str
        Form of the line with the signature; empty for none.
    """
    parameters = [
        replace(parameter, type=type_for_callers(parameter.type), doc=None)
        for parameter in signature.parameters
    ]
    shown = replace(signature, parameters=tuple(parameters), doc=None)
    documented = [parameter for parameter in signature.parameters if parameter.doc is not None]
    section = "\n".join(
        ("Parameters", "----------", *(_documented(signature, each) for each in documented))
    )
    parts = signature.doc, section if documented else "", line.format(signature_text(shown))
    return "\n\n".join(filter(None, parts))


def _documented(signature: Declaration, parameter: Parameter) -> str:
    default = "" if parameter.default is EMPTY else f", default {constant_text(parameter.default)}"
    lines = [f"{parameter.name} : {argument_text(signature, parameter)}{default}"]
    lines += [f"    {text}".rstrip() for text in (parameter.doc or "").strip().splitlines()]
    return "\n".join(lines)


def inspect_signature(signature: Declaration) -> inspect.Signature:
    """Return the `inspect.Signature` of the function; annotations are text."""
    parameters = [
        inspect.Parameter(
            parameter.name,
            KINDS[parameter.kind],
            default=inspect.Parameter.empty if parameter.default is EMPTY else parameter.default,
            annotation=argument_text(signature, parameter),
        )
        for parameter in signature.parameters
    ]
    results = [
        replace(result, type=type_for_callers(result.type, _dtypes_of(signature, result.type)))
        for result in signature.results
    ]
    return inspect.Signature(parameters, return_annotation=result_text(tuple(results)))
