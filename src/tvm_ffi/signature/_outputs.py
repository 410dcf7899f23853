# SPDX-License-Identifier: Apache-2.0
"""Shape and dtype inference of outputs from the signature and the inputs, for tracing compilers.

Extents may be symbolic values of a tracing compiler; only arithmetic operators are applied to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ._declaration import Declaration
from ._expression import Expression, Extent, apply, evaluate
from ._types import ANY_EXTENT, TensorType, is_ellipsis

__all__ = ["OutputError", "TensorSpec", "extents_in_gap", "outputs_of"]


class TensorSpec(NamedTuple):
    """Shape and dtype of a tensor."""

    shape: tuple[Any, ...]
    dtype: str


class OutputError(ValueError):
    """Error if a signature does not determine an output, or if inputs contradict a signature."""


def outputs_of(signature: Declaration, inputs: Mapping[str, TensorSpec]) -> Iterator[TensorSpec]:
    """Yield the shape and dtype of each tensor that a function writes or returns.

    Parameters
    ----------
    signature : Signature
        Signature of the function.
    inputs : mapping of str to TensorSpec
        Input tensors by parameter name.

    Yields
    ------
    TensorSpec
        First for ``out`` and ``inout`` parameters in order, then for results.

    Raises
    ------
    OutputError
        If the inputs do not determine the shape or dtype of an output, or do not fit the signature;
        the message names the parameter.
    """
    bindings = _Bindings()
    for parameter in signature.parameters:
        if parameter.name in inputs and isinstance(parameter.type, TensorType):
            bindings.bind(f"argument '{parameter.name}'", parameter.type, inputs[parameter.name])
    for parameter in signature.parameters:
        if parameter.is_written and isinstance(parameter.type, TensorType):
            if parameter.direction == "inout":
                yield inputs[parameter.name]
            else:
                yield bindings.spec_of(f"output '{parameter.name}'", parameter.type)
    for index, result in enumerate(signature.results):
        if isinstance(result.type, TensorType):
            yield bindings.spec_of(f"result {result.name or index}", result.type)


class _Bindings:
    """The values that the extent names and dtype variables of a signature have in one call."""

    def __init__(self) -> None:
        self._extents: dict[str, Any] = {}
        self._ellipses: dict[str, tuple[Any, ...]] = {}
        self._dtypes: dict[str, str] = {}

    def bind(self, where: str, type_: TensorType, given: TensorSpec) -> None:
        """Bind the extent names and dtype variable of a type to an input's extents and dtype."""
        self._bind_dtype(where, type_, given.dtype)
        if type_.shape is None:
            return
        if type_.ndim is not None and type_.ndim != len(given.shape):
            raise OutputError(
                f"{where} must have {type_.ndim} dimensions, got {len(given.shape)} "
                f"(shape={given.shape})"
            )
        for extent, value in _pairs(type_, given.shape):
            if not isinstance(extent, str) or extent == ANY_EXTENT:
                continue
            if self._extents.setdefault(extent, value) != value:
                raise OutputError(
                    f"{where}: extent {extent} is {self._extents[extent]}, got {value} "
                    f"(shape={given.shape})"
                )
        if type_.ellipsis is not None:
            dimensions = extents_in_gap(type_, given.shape)
            expected = self._ellipses.setdefault(type_.ellipsis, dimensions)
            if expected != dimensions:
                raise OutputError(
                    f"{where}: {type_.ellipsis} is {expected}, got {dimensions} "
                    f"(shape={given.shape})"
                )

    def _bind_dtype(self, where: str, type_: TensorType, given: str) -> None:
        if type_.variable is not None:
            expected = self._dtypes.setdefault(type_.variable, given)
            allowed: tuple[str, ...] = (expected,)
        elif type_.dtype is None:
            return
        else:
            allowed = (type_.dtype,) if isinstance(type_.dtype, str) else type_.dtype
        if given not in allowed:
            raise OutputError(f"{where} must have dtype {' or '.join(allowed)}, got {given}")

    def spec_of(self, where: str, type_: TensorType) -> TensorSpec:
        """Return shape and dtype of an output, computed from the bound extents and dtypes."""
        dtype = self._dtypes.get(type_.variable) if type_.variable else type_.dtype
        if not isinstance(dtype, str):
            raise OutputError(f"the signature does not say which dtype {where} has")
        if type_.shape is None:
            raise OutputError(f"the signature does not say which shape {where} has")
        extents: list[Any] = []
        for extent in type_.shape:
            if isinstance(extent, str) and extent in self._ellipses:
                extents += self._ellipses[extent]
            else:
                extents.append(self._value(where, extent))
        return TensorSpec(tuple(extents), dtype)

    def _value(self, where: str, extent: Extent) -> Any:
        if is_ellipsis(extent) or extent == ANY_EXTENT:
            raise OutputError(f"the signature does not say which shape {where} has: '{extent}'")
        try:
            return _evaluate(extent, self._extents)
        except KeyError as error:
            raise OutputError(
                f"the shape of {where} depends on {error.args[0]}, which no tensor determines"
            ) from None


def extents_in_gap(type_: TensorType, shape: Sequence[Any]) -> tuple[Any, ...]:
    """Return the extents of a tensor that the ellipsis of its type stands for."""
    first = type_.gap or 0
    return tuple(shape[first : len(shape) - len(type_.shape or ()) + 1 + first])


def _pairs(type_: TensorType, given: tuple[Any, ...]) -> Iterator[tuple[Extent, Any]]:
    """Yield a pair (declared extent, input's extent) for each axis that the gap does not cover."""
    expected, first = type_.shape or (), type_.gap
    if first is None:
        yield from zip(expected, given)
        return
    last = len(expected) - first - 1
    if first + last > len(given):
        raise OutputError(
            f"expected a tensor of at least {first + last} dimensions, got shape {given}"
        )
    yield from zip(expected[:first], given)
    if last:
        yield from zip(expected[-last:], given[-last:])


def _evaluate(extent: Extent, values: Mapping[str, Any]) -> Any:
    if not isinstance(extent, Expression):
        return values[extent] if isinstance(extent, str) else extent
    if all(isinstance(value, int) for value in values.values()):
        return evaluate(extent, values)  # raises ExtentError on overflow and division by zero
    left, right = (_evaluate(operand, values) for operand in extent.operands)
    return apply(extent.operator, left, right)
