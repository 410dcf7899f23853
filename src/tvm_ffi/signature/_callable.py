# SPDX-License-Identifier: Apache-2.0
"""Comparison of a signature with the Python callable that it describes.

Python callers pass the arguments of a Python callable as they are written, native callers pass all
of them by position, and both omit arguments that have defaults.  The callable must therefore take
each declared parameter by position at its place, by its name, and with its default.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ._declaration import Declaration
from ._defaults import checked_default, same_default
from ._parameter import EMPTY, Parameter

__all__ = ["check_callable"]

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def check_callable(signature: Declaration, function: Callable[..., Any]) -> None:
    """Raise ValueError unless a Python callable takes every call that a signature allows."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):  # raised for some built-in functions
        for parameter in signature.parameters:
            if not parameter.is_required and parameter.kind != "variadic":
                raise _refusal(
                    parameter, "has a default", f"the parameters of {function!r} are unknown"
                ) from None
        return
    shown = f"{getattr(function, '__name__', type(function).__name__)}{found}"
    taken = list(found.parameters.values())
    by_position = [parameter for parameter in taken if parameter.kind in _BY_POSITION]
    for index, parameter in enumerate(signature.parameters):
        if index < len(by_position) and parameter.kind != "variadic":
            _check_parameter(parameter, by_position[index], shown)
        else:
            _check_further(parameter, found, shown)
    fixed = [parameter for parameter in signature.parameters if parameter.kind != "variadic"]
    declared = by_position[: len(fixed)]
    for own in taken:
        is_variadic = own.kind in (own.VAR_POSITIONAL, own.VAR_KEYWORD)
        if own not in declared and own.default is own.empty and not is_variadic:
            raise ValueError(
                f"{shown} requires the parameter '{own.name}', which the signature does not declare"
            )


def _check_parameter(parameter: Parameter, own: inspect.Parameter, shown: str) -> None:
    """Compare a declared parameter with the callable's parameter at the same position."""
    if parameter.kind != "positional-only":
        if own.kind is own.POSITIONAL_ONLY:
            raise _refusal(
                parameter,
                "can be passed by name",
                f"{shown} takes it by position only; write '/' after it in the signature",
            )
        if own.name != parameter.name:
            raise _refusal(
                parameter,
                "can be passed by name",
                f"{shown} has '{own.name}' at its position; use one name, or write '/' after it in "
                "the signature",
            )
    if parameter.default is EMPTY:
        return
    declared = f"has the default {parameter.default!r}"
    if own.default is own.empty:
        raise _refusal(parameter, declared, f"{shown} has none; add the default to the function")
    if not _is_default(parameter, own.default):
        raise _refusal(parameter, declared, f"{shown} has another one; use one default")


def _is_default(parameter: Parameter, default: Any) -> bool:
    try:
        converted = checked_default(parameter.name, parameter.type, default)
    except (TypeError, ValueError):  # an object such as a `Device`, declared by its text
        return str(default) in (parameter.default, f"{parameter.default}:0")
    return same_default(converted, parameter.default)


def _check_further(parameter: Parameter, found: inspect.Signature, shown: str) -> None:
    """Check a declared parameter for which the callable has no positional parameter."""
    own = found.parameters.get(parameter.name)
    kinds = {each.kind for each in found.parameters.values()}
    has_rest = inspect.Parameter.VAR_POSITIONAL in kinds
    if parameter.kind == "variadic":
        if not has_rest:
            raise _refusal(parameter, "takes any number of arguments", f"{shown} does not")
    elif own is not None and own.kind is own.KEYWORD_ONLY:
        raise _refusal(
            parameter,
            "is passed by position by native callers",
            f"{shown} takes it by keyword only; remove the '*' before it in the function",
        )
    elif not has_rest:
        raise _refusal(parameter, "is declared", f"{shown} has fewer parameters")
    elif not parameter.is_required:
        raise _refusal(
            parameter, f"has the default {parameter.default!r}", f"{shown} does not name it"
        )
    elif parameter.kind != "positional-only" and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise _refusal(
            parameter,
            "can be passed by name",
            f"{shown} takes it by position only; write '/' after it in the signature",
        )


def _refusal(parameter: Parameter, declared: str, actual: str) -> ValueError:
    return ValueError(f"parameter '{parameter.name}' {declared}, but {actual}")
