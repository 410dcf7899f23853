# SPDX-License-Identifier: Apache-2.0
"""Argument binding for calls in which the adapter passes the output tensors (destination passing).

A caller of an adapter does not pass the ``out`` tensors of a function.  The adapter allocates these
tensors, passes them to the function, and returns them to the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..signature import Signature, TensorType
from ..signature._parameter import Parameter
from ..signature._run_checks import bind_arguments

__all__ = ["bind_inputs", "is_output", "require_out"]


class _VisibleSignature(NamedTuple):
    """The two attributes of a signature that `bind_arguments` reads, without ``out`` parameters."""

    name: str
    parameters: tuple[Parameter, ...]


def is_output(parameter: Parameter) -> bool:
    """Return True if a parameter is an ``out`` tensor, which the adapter allocates and returns."""
    return parameter.direction == "out" and isinstance(parameter.type, TensorType)


def require_out(where: str, out: Any) -> None:
    """Raise TypeError if a call of a function without a signature does not pass ``out=``.

    The message begins with `where`, the name of the call.
    """
    if out is None:
        raise TypeError(
            f"{where}: expected out= for a function without a signature, got None; "
            "out= describes the arrays that the function writes"
        )


def bind_inputs(
    where: str, signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a dict with the argument or default of each parameter that is not an ``out`` tensor.

    The arguments of a variadic parameter ``*name`` are a tuple.

    Raises
    ------
    TypeError
        If an argument is missing, unknown or given twice.  The message begins with `where`, the
        name of the call.
    """
    parameters = tuple(p for p in signature.parameters if not is_output(p))
    visible = cast(Signature, _VisibleSignature(signature.name, parameters))
    try:
        return bind_arguments(visible, args, kwargs)
    except TypeError as error:
        raise TypeError(
            f"{where}: {error}; do not pass `out` tensors, which the call allocates and returns: "
            f"{signature}"
        ) from None
