# SPDX-License-Identifier: Apache-2.0
"""Conversion of a torch operator's arguments from positional order to a mapping, and back; checks.

The keys of the mapping are parameter names.  An operator takes the arguments of a variadic
parameter as one list, and keyword-only parameters by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from ..._binding.call import Function
from ..._binding.call.signature_lookup import check_function
from ...signature import Signature

__all__ = ["bind_positions", "check_functions", "pass_by_position", "tensors_in"]


def check_functions(*signatures: Signature | None) -> tuple[Function, ...]:
    """Return functions that raise the errors of signatures; each takes the function's arguments.

    Signatures that are None, unchecked or variadic, and repeated ones, have no check function.
    """
    given = dict.fromkeys(signature for signature in signatures if signature is not None)
    return tuple(function for function in map(check_function, given) if function is not None)


def bind_positions(
    signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an operator's arguments by parameter, including defaults, which torch omits."""
    defaults = {parameter.name: parameter.default for parameter in signature.parameters}
    names = [
        parameter.name for parameter in signature.parameters if parameter.kind != "keyword-only"
    ]
    return {**defaults, **dict(zip(names, args)), **kwargs}


def pass_by_position(
    signature: Signature, arguments: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the keyword arguments of an operator."""
    args = [
        arguments[parameter.name]
        for parameter in signature.parameters
        if parameter.kind != "keyword-only"
    ]
    kwargs = {
        parameter.name: arguments[parameter.name]
        for parameter in signature.parameters
        if parameter.kind == "keyword-only"
    }
    return args, kwargs


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors among arguments, including those in nested lists."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)
