# SPDX-License-Identifier: Apache-2.0
"""What torch's dispatcher calls when an operator of ours runs.

A function that returns nothing is called by the dispatcher as it is.  Results have to be looked at:
compiled programs take their number for granted, and that they are memory of their own.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any, Callable

import torch

from ..._binding.call import Function
from ...container import Array
from ...core import Tensor
from ...signature import Result, Signature, TensorType
from ._arguments import bind_positions, tensors_in
from ._schema import writes

__all__ = ["count_writes", "kernel_of"]


def kernel_of(function: Function, signature: Signature) -> Callable[..., Any]:
    """Return what calls a function with an operator's arguments."""
    gathered = [place for place, one in enumerate(signature.parameters) if one.kind == "variadic"]
    if not gathered and not signature.results:
        return function

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if gathered:
            args = (*args[: gathered[0]], *args[gathered[0]])
        result = function(*args, **kwargs)
        return _checked(result, signature, (*args, *kwargs.values()))

    return kernel


def _checked(result: Any, signature: Signature, arguments: tuple[Any, ...]) -> Any:
    """Return what torch takes for an operator's results."""
    wanted = len(signature.results)
    if wanted == 0:
        return None
    results = tuple(result) if isinstance(result, (tuple, list, Array)) else (result,)
    if len(results) != wanted:
        raise RuntimeError(
            f"`{signature.name}` returned {_count(len(results))}, and its signature says "
            f"{_count(wanted)}: `{signature}`"
        )
    given = tuple(map(_given, results, signature.results, repeat(signature)))
    lent = [_extent_in_memory(one) for one in tensors_in(arguments)]
    for place, tensor in enumerate(given):
        if isinstance(tensor, torch.Tensor) and any(
            _overlap(_extent_in_memory(tensor), other) for other in lent
        ):
            raise RuntimeError(
                f"result {place} of `{signature.name}` is memory of one of its arguments, and "
                "programs that were traced take it for new: return a copy, or nothing"
            )
    return given[0] if wanted == 1 else given


def _count(number: int) -> str:
    return "1 result" if number == 1 else f"{number} results"


def _given(value: Any, declared: Result, signature: Signature) -> Any:
    """Return what torch takes for a result."""
    if isinstance(value, torch.Tensor) or not isinstance(declared.type, TensorType):
        return value
    if isinstance(value, Tensor):  # what comes back where no argument was a tensor of torch
        return torch.from_dlpack(value)
    raise RuntimeError(
        f"`{signature.name}` returned {type(value).__name__}, and its signature says a tensor: "
        f"`{signature}`"
    )


def _extent_in_memory(tensor: torch.Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def count_writes(operator: Any) -> None:
    """Let torch know of tensors that an operator has written, so that derivatives are right.

    torch counts what is written to each tensor, and refuses a derivative that needs what was there.
    """
    signature, overload = operator.signature, operator.overload
    written = [one.name for one in signature.parameters if writes(one)]

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = bind_positions(signature, args, kwargs)
        for tensor in tensors_in(arguments[name] for name in written):
            torch.autograd.graph.increment_version(tensor)
        with torch._C._AutoDispatchBelowADInplaceOrView():
            below = keyset & torch._C._after_ADInplaceOrView_keyset
            return overload.redispatch(below, *args, **kwargs)

    operator.library.impl(operator.short_name, kernel, "ADInplaceOrView", with_keyset=True)
