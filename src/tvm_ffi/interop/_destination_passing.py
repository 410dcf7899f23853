# SPDX-License-Identifier: Apache-2.0
"""Argument binding for calls in which the adapter passes the output tensors (destination passing).

Callers of an adapter leave out the ``out`` parameters of a function; the adapter allocates the
tensors, passes them and returns them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..signature import Signature, TensorType
from ..signature._parameter import Parameter
from ..signature._run_checks import bind_arguments

__all__ = ["bind_inputs", "is_output", "require_out"]


class _VisibleSignature(NamedTuple):
    """The name of a signature, and its parameters without the outputs."""

    name: str
    parameters: tuple[Parameter, ...]


def is_output(parameter: Parameter) -> bool:
    """Return True for an ``out`` tensor: the adapter passes it, and returns it to the caller."""
    return parameter.direction == "out" and isinstance(parameter.type, TensorType)


def require_out(where: str, out: Any) -> None:
    """Raise TypeError if `out` is None for a function without a signature.

    The message begins with `where`.
    """
    if out is None:
        raise TypeError(
            f"{where}: expected out= for a function without a signature, got None; "
            "out= describes the arrays that the function writes"
        )


def bind_inputs(
    where: str, signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return arguments and defaults by parameter, without outputs; ``*name`` is bound to a tuple.

    Raises
    ------
    TypeError
        If an argument is missing, unknown or given twice; the message begins with `where`.
    """
    parameters = tuple(p for p in signature.parameters if not is_output(p))
    visible = cast(Signature, _VisibleSignature(signature.name, parameters))
    try:
        return bind_arguments(visible, args, kwargs)
    except TypeError as error:
        raise TypeError(f"{where}: {error}; outputs are not passed: {signature}") from None
