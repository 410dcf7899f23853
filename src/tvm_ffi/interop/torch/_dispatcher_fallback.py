# SPDX-License-Identifier: Apache-2.0
"""Fallback to torch's dispatcher for calls with tensors that have no accessible memory.

Native code cannot read a FakeTensor, a tensor inside vmap or grad, or a tensor subclass that wraps
other tensors.  If the binding rejects such an argument, the fallback calls the
function's torch operator, so that torch traces, maps or differentiates the call as it does for
other operators.  Calls that the binding accepts do not reach the fallback.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ..._binding.call import Function
from ..._binding.object import hooks
from ...container import Array
from ...core import DataType
from ._arguments import pass_by_position, tensors_in
from ._operators import Operator, UntraceableError, traced_operator

__all__ = ["call_operator", "install_fallback"]


def install_fallback() -> None:
    """Set the binding's hook for calls whose arguments the binding rejects."""
    hooks.fallback_call = call_operator


def call_operator(function: Function, args: tuple[Any, ...]) -> Any:
    """Call the function's torch operator with arguments that the binding rejected.

    Returns `NotImplemented` if the call does not need the dispatcher, or if the function has no
    suitable operator; the binding then raises its error.
    """
    tensors = [tensor for tensor in tensors_in(args) if _needs_dispatcher(tensor)]
    if not tensors:
        return NotImplemented
    try:
        operator = traced_operator(function)
    except UntraceableError:
        if any(isinstance(tensor, FakeTensor) for tensor in tensors):
            raise
        return NotImplemented
    if not operator.has_rules and any(map(_is_transformed, tensors)):
        return NotImplemented
    op_args, op_kwargs = pass_by_position(operator.signature, _by_parameter(operator, args))
    return operator.overload(*op_args, **op_kwargs)


def _needs_dispatcher(tensor: torch.Tensor) -> bool:
    """Return True for a tensor without memory whose class or transform handles operators.

    Classes that wrap other tensors have `__torch_dispatch__`, and thus the dispatch key Python.
    """
    if tensor.is_nested:  # torch's class handles its own operators only
        return False
    return _is_transformed(tensor) or torch._C._dispatch_keys(tensor).has(
        torch._C.DispatchKey.Python
    )


def _is_transformed(tensor: torch.Tensor) -> bool:
    """Return True for a tensor inside a transform of `torch.func`, such as vmap or grad."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def _by_parameter(operator: Operator, args: tuple[Any, ...]) -> dict[str, Any]:
    """Return the arguments by parameter; `args` contains an argument for every parameter."""
    parameters = operator.signature.parameters
    num_variadic = len(args) - len(parameters) + 1
    remaining = map(_to_torch, args)
    return {
        parameter.name: [next(remaining) for _ in range(num_variadic)]
        if parameter.kind == "variadic"
        else next(remaining)
        for parameter in parameters
    }


def _to_torch(value: Any) -> Any:
    """Return the torch equivalent of an argument that the binding converted for native code."""
    if isinstance(value, Array):
        return [_to_torch(element) for element in value]
    if isinstance(value, DataType):
        return getattr(torch, str(value))
    return value
