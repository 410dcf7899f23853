# SPDX-License-Identifier: Apache-2.0
"""Fake kernels: the checks and the result shapes of a signature, evaluated on fake tensors.

Extents may be symbols.  `torch._check` compares symbols, and records the comparison as a condition
of the traced program if its result is not known yet.  torch's symbolic functions compute with
symbols.  Error messages are those of `Signature.check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

import torch

from ...signature import Expression, Result, Signature, TensorType
from ...signature._checks import Check, checks
from ...signature._expression import Extent, apply, names_in
from ...signature._outputs import extents_in_gap
from ...signature._types import ANY_EXTENT, ELLIPSIS
from ._arguments import bind_positions

__all__ = ["checked_fake_kernel", "fake_kernel_of", "run_checks", "unknown_result_reason"]

# torch's minimum and maximum do not compare symbols, unlike Python's min and max.
_CHOICES = {"min": torch.sym_min, "max": torch.sym_max}
_ERRORS = {"TypeError": TypeError, "ValueError": ValueError}


def unknown_result_reason(signature: Signature) -> str | None:
    """Return the reason why results cannot be allocated from the signature, or None if they can."""
    for index, result in enumerate(signature.results):
        type_ = result.type
        label = f"result '{result.name}'" if result.name else f"result {index}"
        if not isinstance(type_, TensorType):
            return f"{label} is not a tensor"
        if type_.shape is None or ELLIPSIS in type_.shape or ANY_EXTENT in type_.shape:
            return f"the signature does not specify the shape of {label}"
        if not isinstance(type_.dtype, str):
            return f"the signature does not specify the dtype of {label}"
    return None


def fake_kernel_of(signature: Signature) -> Callable[..., Any]:
    """Return the fake kernel of a function's operator, which torch calls while it traces."""

    def fake(*args: Any, **kwargs: Any) -> Any:
        call = _FakeCall(signature, bind_positions(signature, args, kwargs))
        results = tuple(map(call.new, signature.results))
        return results[0] if len(results) == 1 else results or None

    return fake


def checked_fake_kernel(signature: Signature, fake: Callable[..., Any]) -> Callable[..., Any]:
    """Return a fake kernel that checks arguments before it calls the user's fake kernel."""

    def checked(*args: Any, **kwargs: Any) -> Any:
        run_checks(signature, bind_positions(signature, args, kwargs))
        return fake(*args, **kwargs)

    return checked


def run_checks(signature: Signature, arguments: Mapping[str, Any]) -> None:
    """Raise the error of the signature if arguments, by parameter, violate it."""
    _FakeCall(signature, arguments)


class _FakeCall:
    """One call on fake tensors: values of the signature's extent and dtype variables."""

    def __init__(self, signature: Signature, arguments: Mapping[str, Any]) -> None:
        self._signature, self._arguments = signature, arguments
        self._extents: dict[str, Any] = {}
        self._dtypes: dict[str, torch.dtype] = {}
        for check in checks(signature):
            run = getattr(self, f"_{check.kind}", None)
            if run is not None:
                self._run(check, run)

    def _run(self, check: Check, run: Callable[[Check, Any], None]) -> None:
        value = self._arguments.get(check.parameter.name)
        if (
            check.kind == "type"
            or isinstance(value, torch.Tensor)
            or (check.kind == "integer" and value is not None)
        ):
            run(check, value)

    # ---- checks of arguments ---------------------------------------------------------------------

    def _type(self, check: Check, value: Any) -> None:
        type_ = check.parameter.type
        # torch passes None for an undefined tensor; its schema excludes all other types.
        if value is None and isinstance(type_, TensorType) and not type_.is_optional:
            self._fail(check, "type", got="None")

    def _integer(self, check: Check, value: Any) -> None:
        self._bind(check, str(check.extent), value, 0)

    def _ndim(self, check: Check, tensor: torch.Tensor) -> None:
        shape = check.tensor.shape or ()
        got = tensor.ndim
        if got != len(shape) if check.tensor.ndim is not None else got < len(shape) - 1:
            self._fail(check, "ndim", got=got)

    def _dtype(self, check: Check, tensor: torch.Tensor) -> None:
        got = str(tensor.dtype).partition(".")[2]
        if got not in self._signature.dtypes_of(check.tensor):
            self._fail(check, "dtype", got=got)
        variable = check.tensor.variable
        if variable is not None and self._dtypes.setdefault(variable, tensor.dtype) != tensor.dtype:
            expected = str(self._dtypes[variable]).partition(".")[2]
            self._fail(check, "variable", expected=expected, got=got)

    def _device(self, check: Check, tensor: torch.Tensor) -> None:
        got = tensor.device
        expected = check.tensor.device
        if got.type != "meta" and expected not in (got.type, f"{got.type}:{got.index or 0}"):
            self._fail(check, "device", got=f"{got.type}:{got.index or 0}")

    def _extent(self, check: Check, tensor: torch.Tensor) -> None:
        axis = check.axis if check.axis >= 0 else tensor.ndim + check.axis
        got = tensor.shape[axis]
        if isinstance(check.extent, str):
            self._bind(check, check.extent, got, axis)
        elif self._extents.keys() >= set(names_in(check.extent)):
            self._compare(check, self._value(check.extent), got, axis)

    def _ellipsis(self, check: Check, tensor: torch.Tensor) -> None:
        parameter = self._signature.parameters[check.other]
        other = self._arguments.get(parameter.name)
        if not isinstance(other, torch.Tensor) or not isinstance(parameter.type, TensorType):
            return
        got = extents_in_gap(check.tensor, tensor.shape)
        expected = extents_in_gap(parameter.type, other.shape)
        if len(got) != len(expected):
            self._fail(check, "ndim", expected=len(expected), got=len(got))
        for index, pair in enumerate(zip(expected, got)):
            self._compare(check, *pair, (check.tensor.gap or 0) + index, index)

    def _bind(self, check: Check, name: str, got: Any, axis: int) -> None:
        if name in self._extents:
            self._compare(check, self._extents[name], got, axis)
        else:
            self._extents[name] = got

    def _compare(self, check: Check, expected: Any, got: Any, axis: int, index: int = 0) -> None:
        holes = {"axis": axis, "index": index, "expected": expected, "got": got}
        if isinstance(expected, int) and isinstance(got, int):
            if expected != got:
                self._fail(check, "differs", **holes)
            return
        failure = check.failures["differs"]
        torch._check(expected == got, lambda: failure.message(**holes))

    def _fail(self, check: Check, name: str, **holes: object) -> None:
        failure = check.failures[name]
        raise _ERRORS[failure.error](failure.message(**holes))

    # ---- allocation of results -------------------------------------------------------------------

    def _value(self, extent: Extent) -> Any:
        if isinstance(extent, str):
            return self._extents[extent]
        if not isinstance(extent, Expression):
            return extent
        left, right = map(self._value, extent.operands)
        if extent.operator in _CHOICES:
            return _CHOICES[extent.operator](left, right)
        return apply(extent.operator, left, right)

    def _extents_of(self, ellipsis: Extent) -> tuple[Any, ...]:
        """Return the extents that match an ellipsis such as ``*s`` in this call."""
        for parameter in self._signature.parameters:
            type_, value = parameter.type, self._arguments.get(parameter.name)
            if not isinstance(type_, TensorType) or not isinstance(value, torch.Tensor):
                continue
            if type_.ellipsis == ellipsis:
                return extents_in_gap(type_, value.shape)
        raise KeyError(ellipsis)

    def new(self, result: Result) -> torch.Tensor:
        """Return a fake tensor of a result, after the arguments have bound its extents."""
        type_ = result.type
        assert isinstance(type_, TensorType)
        assert isinstance(type_.dtype, str)
        dtype = self._dtypes.get(type_.dtype) or getattr(torch, type_.dtype)
        shape: list[Any] = []
        for extent in type_.shape or ():
            shape += self._extents_of(extent) if extent == type_.ellipsis else [self._value(extent)]
        return torch.empty(shape, dtype=dtype, device=self._device_of(result, type_))

    def _device_of(self, result: Result, type_: TensorType) -> torch.device:
        argument = self._arguments.get(result.name or "")
        if isinstance(argument, torch.Tensor):  # The result is a copy of this argument.
            return argument.device
        device = self._first_device()
        if device.type != "meta" and type_.device is not None:
            return torch.device(type_.device)
        return device

    def _first_device(self) -> torch.device:
        for value in self._arguments.values():
            for element in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(element, torch.Tensor):
                    return element.device
        return torch.device("cpu")
