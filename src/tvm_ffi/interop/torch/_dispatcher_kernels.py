# SPDX-License-Identifier: Apache-2.0
"""Kernels that torch's dispatcher calls to run a function's operator.

A function without results and without compact parameters is the kernel itself.  For other
functions, the kernel passes compact copies of tensors that are not compact, and copies the contents
of written ones back.  It checks the results, because compiled programs assume that their number is
the declared one, and that each result is new memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, Callable

import torch
from torch.nested._internal.nested_tensor import NestedTensor

from ..._binding.call import Function
from ...container import Array
from ...core import Tensor
from ...signature import Parameter, Result, Signature, TensorType
from ...signature._values import is_compact
from ._arguments import bind_positions, tensors_in
from ._native_kernels import by_position
from ._schema import may_write

__all__ = ["kernel_of", "register_version_kernel", "reject_nested_tensors"]

# torch's kernels for all backends have no part at these dispatch keys.
_NESTED_KEYS = ("NestedTensorCPU", "NestedTensorCUDA", "AutogradNestedTensor")


def kernel_of(
    function: Function, signature: Signature, checks: Sequence[Function] = ()
) -> Callable[..., Any]:
    """Return the dispatcher kernel of a function, which takes the arguments of its operator.

    The kernel calls the check functions in `checks` after it has made the compact copies.
    """
    kernel = _unpacking_kernel(function, signature)
    if checks:
        kernel = _checking_kernel(kernel, signature, checks)
    places = list(_compact_places(signature))
    if not places:
        return kernel

    def compacting(*args: Any, **kwargs: Any) -> Any:
        values, copies = dict(enumerate(args)), _Copies()
        arguments: dict[Any, Any] = {**values, **kwargs}
        for place, parameter in places:
            if place in arguments:  # torch omits arguments that equal their default
                arguments[place] = copies.compact(arguments[place], parameter)
        result = kernel(
            *[arguments[place] for place in values], **{name: arguments[name] for name in kwargs}
        )
        copies.write_back()
        return result

    return compacting


def _checking_kernel(
    kernel: Callable[..., Any], signature: Signature, checks: Sequence[Function]
) -> Callable[..., Any]:
    def checking(*args: Any, **kwargs: Any) -> Any:
        arguments = bind_positions(signature, args, kwargs).values()
        for check in checks:
            check(*arguments)
        return kernel(*args, **kwargs)

    return checking


def _compact_places(signature: Signature) -> Iterator[tuple[int | str, Parameter]]:
    """Yield the position or the keyword, and the parameter, of arguments that must be compact."""
    for index, parameter in enumerate(signature.parameters):
        if isinstance(parameter.type, TensorType) and parameter.type.compact_from is not None:
            yield parameter.name if parameter.kind == "keyword-only" else index, parameter


class _Copies:
    """The compact copies of one call's arguments."""

    def __init__(self) -> None:
        self._written: list[tuple[torch.Tensor, torch.Tensor]] = []

    def compact(self, value: Any, parameter: Parameter) -> Any:
        """Return an argument, or a compact copy of it if it lacks the declared layout."""
        if isinstance(value, (list, tuple)):
            return [self.compact(element, parameter) for element in value]
        is_strided = isinstance(value, torch.Tensor) and value.layout == torch.strided
        if not is_strided or value.is_contiguous():
            return value
        first = getattr(parameter.type, "compact_from", 0)
        if is_compact(value.shape, value.stride(), first):
            return value
        tensor = value.detach()  # Copies are no part of a program's derivative.
        copy = (
            torch.empty_like(tensor, memory_format=torch.contiguous_format)
            if parameter.direction == "out"
            else tensor.contiguous()
        )
        if may_write(parameter):
            self._written.append((tensor, copy))
        return copy

    def write_back(self) -> None:
        """Copy the contents of copies that the function wrote into the arguments."""
        for tensor, copy in self._written:
            tensor.copy_(copy)


def _unpacking_kernel(function: Function, signature: Signature) -> Callable[..., Any]:
    """Return a kernel that passes variadic arguments one by one, and checks the results."""
    variadic = [
        index
        for index, parameter in enumerate(signature.parameters)
        if parameter.kind == "variadic"
    ]
    if not variadic and not signature.results:
        return function

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if variadic:
            args = (*args[: variadic[0]], *args[variadic[0]])
        result = function(*args, **kwargs)
        return _checked(result, signature, (*args, *kwargs.values()))

    return kernel


def _checked(result: Any, signature: Signature, arguments: tuple[Any, ...]) -> Any:
    """Return the results of a function in the form that torch's dispatcher expects; check them."""
    num_results = len(signature.results)
    if num_results == 0:
        return None
    results = tuple(result) if isinstance(result, (tuple, list, Array)) else (result,)
    if len(results) != num_results:
        raise RuntimeError(
            f"`{signature.name}`: expected {_count(num_results)}, got {len(results)}; the "
            f"signature is `{signature}`"
        )
    converted = tuple(map(_converted_result, results, signature.results, repeat(signature)))
    argument_ranges = [_address_range(tensor) for tensor in tensors_in(arguments)]
    for index, tensor in enumerate(converted):
        if isinstance(tensor, torch.Tensor) and any(
            _overlap(_address_range(tensor), other) for other in argument_ranges
        ):
            raise RuntimeError(
                f"result {index} of `{signature.name}`: expected new memory, got memory of an "
                "argument, which compiled programs do not support; return a copy"
            )
    return converted[0] if num_results == 1 else converted


def _count(number: int) -> str:
    return "1 result" if number == 1 else f"{number} results"


def _converted_result(value: Any, declared: Result, signature: Signature) -> Any:
    """Return a result as a torch tensor, or unchanged if the signature declares no tensor."""
    if isinstance(value, torch.Tensor) or not isinstance(declared.type, TensorType):
        return value
    # A call returns this package's tensors if no argument is a torch tensor, or if torch cannot
    # represent the tensor.
    if isinstance(value, Tensor):
        if value.readonly:
            raise RuntimeError(
                f"`{signature.name}`: expected a tensor that may be written as result, got a "
                "read-only tensor, which torch does not have; return a copy"
            )
        return torch.from_dlpack(value)
    raise RuntimeError(
        f"`{signature.name}`: expected a tensor as result, got {type(value).__name__}; the "
        f"signature is `{signature}`"
    )


def _address_range(tensor: torch.Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def _overlap(left: tuple[int, int], right: tuple[int, int]) -> bool:
    return left[0] < right[1] and right[0] < left[1]


def register_version_kernel(operator: Any) -> None:
    """Register a kernel that increments the version counters of tensors that an operator writes.

    Autograd compares the version counters of tensors that were saved for the backward pass, to
    detect that such a tensor was modified.
    """
    signature, overload = operator.signature, operator.overload
    written = [parameter.name for parameter in signature.parameters if may_write(parameter)]

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = bind_positions(signature, args, kwargs)
        for tensor in tensors_in(arguments[name] for name in written):
            torch.autograd.graph.increment_version(tensor)
        with torch._C._AutoDispatchBelowADInplaceOrView():
            below = keyset & torch._C._after_ADInplaceOrView_keyset
            return overload.redispatch(below, *args, **kwargs)

    below = by_position(overload, signature)

    def positional(*values: Any) -> Any:
        named = zip((parameter.name for parameter in signature.parameters), values)
        for tensor in tensors_in(value for name, value in named if name in written):
            torch.autograd.graph.increment_version(tensor)
        with torch._C._AutoDispatchBelowADInplaceOrView():
            return below(*values)

    if not operator.add_kernels(positional, autograd_key="ADInplaceOrView"):
        operator.library.impl(operator.short_name, kernel, "ADInplaceOrView", with_keyset=True)


# ---- nested tensors ------------------------------------------------------------------------------


def reject_nested_tensors(name: str, signature: Signature, library: torch.library.Library) -> None:
    """Register kernels that raise the error of an operator for nested tensors.

    Without them, torch raises a NotImplementedError about its dispatch keys.
    """

    def kernel(*args: Any, **kwargs: Any) -> Any:
        for parameter, value in bind_positions(signature, args, kwargs).items():
            if any(tensor.is_nested for tensor in tensors_in([value])):
                raise TypeError(
                    f"argument '{parameter}' of {name}: expected a tensor, got a nested tensor, "
                    "which operators of tvm_ffi do not support; pass the tensors of "
                    "tensor.unbind(), or tensor.values() and tensor.offsets()"
                )

    def dispatched(_: Any, __: Any, ___: Any, args: Any, kwargs: Any) -> Any:
        return kernel(*args, **(kwargs or {}))

    for key in _NESTED_KEYS:
        library.impl(name.partition("::")[2], kernel, key)
    torch.library.register_torch_dispatch(name, NestedTensor, dispatched, lib=library)
