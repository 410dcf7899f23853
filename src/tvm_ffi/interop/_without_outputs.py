# SPDX-License-Identifier: Apache-2.0
"""Calls of functions whose outputs are results of the call, not arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..signature import Signature, TensorType
from ..signature._parameter import Parameter
from ..signature._run_checks import bind_arguments

__all__ = ["bind_without_outputs", "is_output", "require_outputs"]


class _Visible(NamedTuple):
    """What callers see of a signature."""

    name: str
    parameters: tuple[Parameter, ...]


def is_output(parameter: Parameter) -> bool:
    """Whether callers leave this out, because it is a result."""
    return parameter.direction == "out" and isinstance(parameter.type, TensorType)


def require_outputs(where: str, out: Any) -> None:
    """Raise TypeError where nobody says what a function without a signature writes.

    The message begins with `where`.
    """
    if out is None:
        raise TypeError(
            f"{where} needs out=: the function has no signature that says what it writes"
        )


def bind_without_outputs(
    where: str, signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments by parameter, with defaults put in; those of ``*name`` are a tuple.

    Raises
    ------
    TypeError
        If an argument is missing, unknown or given twice; the message begins with `where`.
    """
    parameters = tuple(p for p in signature.parameters if not is_output(p))
    visible = cast(Signature, _Visible(signature.name, parameters))
    try:
        return bind_arguments(visible, args, kwargs)
    except TypeError as error:
        raise TypeError(f"{where}: {error}; without outputs, {signature}") from None
