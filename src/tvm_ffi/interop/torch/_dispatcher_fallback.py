# SPDX-License-Identifier: Apache-2.0
"""Calls with tensors that have no memory of their own, made by torch's dispatcher instead.

A FakeTensor, a tensor inside vmap or grad, one on ``meta`` or of a class that wraps others stands
for tensors that native code cannot see.  Where the binding refuses one, the operator of the
function is called, and torch does what it does for operators: it traces, maps, differentiates.
Calls that native code takes never come here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ..._binding.call import Function
from ..._binding.object import hooks
from ...container import Array
from ...core import DataType
from ._arguments import pass_by_position, tensors_in
from ._operators import Operator, UntraceableError, traced_operator

__all__ = ["call_operator", "take_refused_calls"]


def take_refused_calls() -> None:
    """Let calls that native code cannot take go through torch's dispatcher."""
    hooks.fallback_call = call_operator


def call_operator(function: Function, args: tuple[Any, ...]) -> Any:
    """Return the result of a call that native code refused.

    Returns `NotImplemented` where the dispatcher knows no better, and the refusal stands.
    """
    tensors = [one for one in tensors_in(args) if _stands_for_others(one)]
    if not tensors:
        return NotImplemented
    try:
        operator = traced_operator(function)
    except UntraceableError:
        if any(isinstance(one, FakeTensor) for one in tensors):
            raise
        return NotImplemented
    if not operator.has_rules and any(map(_is_transformed, tensors)):
        return NotImplemented
    by_position, by_name = pass_by_position(operator.signature, _by_parameter(operator, args))
    return operator.overload(*by_position, **by_name)


def _stands_for_others(tensor: torch.Tensor) -> bool:
    return (
        isinstance(tensor, FakeTensor)
        or tensor.is_meta
        or _is_transformed(tensor)
        or is_traceable_wrapper_subclass(tensor)
    )


def _is_transformed(tensor: torch.Tensor) -> bool:
    """Whether a tensor belongs to a transform of `torch.func`, such as vmap and grad."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def _by_parameter(operator: Operator, args: tuple[Any, ...]) -> dict[str, Any]:
    """Return the arguments by parameter: all are there, in the order of the parameters."""
    parameters = operator.signature.parameters
    num_gathered = len(args) - len(parameters) + 1  # what a variadic one gets
    rest = map(_as_torch, args)
    return {
        one.name: [next(rest) for _ in range(num_gathered)]
        if one.kind == "variadic"
        else next(rest)
        for one in parameters
    }


def _as_torch(value: Any) -> Any:
    """Return what torch has for a value that was made for native code."""
    if isinstance(value, Array):
        return [_as_torch(one) for one in value]
    if isinstance(value, DataType):
        return getattr(torch, str(value))
    return value
