# SPDX-License-Identifier: Apache-2.0
"""Argument binding and signature checks of a call from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._schema.dtypes import fits
from . import _values as values
from ._binding_errors import binding_problem
from ._checks import (
    BIG_INT,
    DIRECT_ADDRESS_DEVICES,
    Check,
    Failure,
    accepted_type_names,
    checks,
)
from ._declaration import Declaration
from ._expression import ExtentError, evaluate, names_in
from ._outputs import extents_in_gap
from ._parameter import UNKNOWN, Parameter
from ._types import ScalarType, TensorType, ValueType

__all__ = ["bind_arguments", "check_arguments"]

_ERRORS = {"TypeError": TypeError, "ValueError": ValueError, "BufferError": BufferError}


def check_arguments(
    signature: Declaration, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """Raise unless a call with these arguments fits the signature."""
    checker = _CallChecker(signature, bind_arguments(signature, args, kwargs))
    for check in checks(signature):
        checker.run(check)


def _raise(failure: Failure, **holes: object) -> None:
    raise _ERRORS[failure.error](failure.message(**holes))


# ---- argument binding ----------------------------------------------------------------------------


def bind_arguments(
    signature: Declaration, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a dict with the argument or default of each parameter; a tuple for ``*name``.

    Raises
    ------
    TypeError
        If an argument is missing, unknown or given twice.
    """
    problem = binding_problem(signature, len(args), tuple(kwargs))
    if problem is not None:
        raise TypeError(f"{signature.name}() {problem}")
    bound = dict(kwargs)
    for position, parameter in enumerate(signature.parameters):
        if parameter.kind == "variadic":
            bound[parameter.name] = args[position:]
        elif position < len(args) and parameter.kind != "keyword-only":
            bound[parameter.name] = args[position]
        elif parameter.name not in bound:
            bound[parameter.name] = parameter.default
    return bound


# ---- the checks of one call ----------------------------------------------------------------------


class _CallChecker:
    """Runs the checks of one call; stores the values of extent names and dtype variables."""

    def __init__(self, signature: Declaration, arguments: Mapping[str, Any]) -> None:
        self._signature, self._arguments = signature, arguments
        self._extents: dict[str, int] = {}
        self._dtypes: dict[str, Any] = {}
        self._tensors: dict[str, Any] = {}
        self._numbers: dict[str, list[int | float]] = {}

    def run(self, check: Check) -> None:
        """Run one check."""
        if check.kind == "type":
            self._type(check)
        elif check.kind in ("range", "integer"):
            for number in self._numbers.get(check.parameter.name, ()):
                getattr(self, f"_{check.kind}")(check, number)
        elif check.parameter.name in self._tensors:  # tensors that are None have no other checks
            getattr(self, f"_{check.kind}")(check, self._tensors[check.parameter.name])

    def _type(self, check: Check) -> None:
        parameter = check.parameter
        given = self._arguments[parameter.name]
        accepted = accepted_type_names(parameter.type)
        for value in given if parameter.kind == "variadic" else (given,):
            if accepted is None:
                assert isinstance(parameter.type, ValueType)
                values.check_value(value, parameter.type.schema, check.failures["type"])
            else:
                self._native(check, parameter, value, accepted)
            if parameter.direction == UNKNOWN or (accepted is None and parameter.is_written):
                self._memory(parameter, value)

    def _memory(self, parameter: Parameter, value: Any) -> None:
        """Raise BufferError for read-only memory if the signature has no check `writable`."""
        try:
            values.check_memory(value, parameter.direction)
        except BufferError as error:
            text = f"{self._signature.name}() argument '{parameter.name}': {error}"
            raise BufferError(text) from None

    def _native(
        self, check: Check, parameter: Parameter, value: Any, accepted: tuple[str, ...]
    ) -> None:
        try:
            type_name, native = values.native_value(value, accepted)
        except (TypeError, ValueError, OverflowError, BufferError) as error:
            where = f"{self._signature.name}() argument '{parameter.name}'"
            explained = values.add_error_context(error, where, f"While checking {where}")
            # `explained` is `error` itself, with the context as a note, if its class cannot create
            # an exception with a longer message.
            if explained is error:
                raise
            raise explained from error
        if type_name == BIG_INT and _takes_unsigned(parameter) and 0 <= native < 2**64:
            self._numbers.setdefault(parameter.name, []).append(native)
            return
        if type_name not in accepted:
            _raise(check.failures["big" if type_name == BIG_INT else "type"], got=type_name)
        if type_name == "Tensor" and isinstance(parameter.type, TensorType):
            self._tensors[parameter.name] = native
        elif type_name in ("int", "bool", "float"):
            number = native if type_name == "float" else int(native)
            self._numbers.setdefault(parameter.name, []).append(number)

    def _range(self, check: Check, number: float) -> None:
        assert isinstance(check.parameter.type, ScalarType)
        if not fits(number, check.parameter.type.dtype):
            _raise(check.failures["range"], got=number)
        if number >= 2**63 and "large" in check.failures:
            _raise(check.failures["large"])

    def _integer(self, check: Check, number: int) -> None:
        self._bind(check, str(check.extent), number)

    def _ndim(self, check: Check, tensor: Any) -> None:
        shape = check.tensor.shape or ()
        got = len(tensor.shape)
        if got != len(shape) if check.tensor.ndim is not None else got < len(shape) - 1:
            _raise(check.failures["ndim"], got=got)

    def _dtype(self, check: Check, tensor: Any) -> None:
        type_, got = check.tensor, values.dtype_of(tensor)
        if not values.is_one_of(got, self._signature.dtypes_of(type_)):
            _raise(check.failures["dtype"], got=values.dtype_text(got))
        if type_.variable is not None:
            known = self._dtypes.setdefault(type_.variable, got)
            if known != got:
                _raise(check.failures["variable"], expected=known, got=got)

    def _device(self, check: Check, tensor: Any) -> None:
        if check.tensor.device not in (tensor.device.type, str(tensor.device)):
            _raise(check.failures["device"], got=tensor.device)

    def _negative(self, check: Check, tensor: Any) -> None:
        for axis, extent in enumerate(tensor.shape):
            if extent < 0:
                _raise(check.failures["negative"], axis=axis, got=extent)

    def _layout(self, check: Check, tensor: Any) -> None:
        first = check.tensor.compact_from
        assert first is not None
        if not values.is_compact(tensor.shape, tensor.strides, first):
            _raise(check.failures["layout"], got=values.strides_text(tensor.strides))

    def _writable(self, check: Check, tensor: Any) -> None:
        if tensor.readonly:
            _raise(check.failures["writable"])

    def _repeats(self, check: Check, tensor: Any) -> None:
        is_empty = 0 in tensor.shape
        if not is_empty and any(s == 0 and n > 1 for s, n in zip(tensor.strides, tensor.shape)):
            _raise(check.failures["repeats"], got=values.strides_text(tensor.strides))

    def _overlap(self, check: Check, tensor: Any) -> None:
        other = self._tensors.get(self._signature.parameters[check.other].name)
        if other is not None and _overlap(tensor, other):
            _raise(check.failures["overlap"])

    def _extent(self, check: Check, tensor: Any) -> None:
        axis = check.axis if check.axis >= 0 else len(tensor.shape) + check.axis
        got = tensor.shape[axis]
        if isinstance(check.extent, str):
            self._bind(check, check.extent, got, axis)
            return
        if not self._extents.keys() >= set(names_in(check.extent)):
            return  # an optional tensor is None, so a name in the extent has no value
        try:
            expected = evaluate(check.extent, self._extents)
        except ExtentError as error:
            _raise(check.failures[f"{error.reason} {error.operation}"])
        if got != expected:
            _raise(check.failures["differs"], axis=axis, expected=expected, got=got)

    def _ellipsis(self, check: Check, tensor: Any) -> None:
        parameter = self._signature.parameters[check.other]
        other = self._tensors.get(parameter.name)
        if other is None:
            return
        assert isinstance(parameter.type, TensorType)
        got = extents_in_gap(check.tensor, tensor.shape)
        expected = extents_in_gap(parameter.type, other.shape)
        if len(got) != len(expected):
            _raise(check.failures["ndim"], expected=len(expected), got=len(got))
        for index, pair in enumerate(zip(expected, got)):
            if pair[0] != pair[1]:
                axis = (check.tensor.gap or 0) + index
                holes = {"axis": axis, "index": index, "expected": pair[0], "got": pair[1]}
                _raise(check.failures["differs"], **holes)

    def _alignment(self, check: Check, tensor: Any) -> None:
        assert check.tensor.alignment is not None
        got = tensor.data_ptr() % check.tensor.alignment
        if got != 0 and 0 not in tensor.shape and not _is_null(tensor):
            _raise(check.failures["alignment"], got=got)

    def _address(self, check: Check, tensor: Any) -> None:
        if 0 in tensor.shape:
            return
        if _is_null(tensor):
            _raise(check.failures["null"])
        alignment = values.alignment_of(values.dtype_of(tensor))
        if tensor.data_ptr() % alignment != 0:
            got = tensor.data_ptr() % alignment
            _raise(check.failures["alignment"], expected=alignment, got=got)

    def _bind(self, check: Check, name: str, got: int, axis: int = 0) -> None:
        known = self._extents.setdefault(name, got)
        if known != got:
            _raise(check.failures["differs"], axis=axis, expected=known, got=got)


def _is_null(tensor: Any) -> bool:
    return bool(tensor.data_ptr() == tensor.byte_offset)


def _overlap(a: Any, b: Any) -> bool:
    """Return True if two tensors certainly share memory.

    They do if they have the same first element, or if both are compact and their bytes overlap.
    Other tensors with gaps may be interleaved, such as the odd and the even elements of a vector.
    """
    if a.device != b.device or _is_null(a) or _is_null(b) or 0 in a.shape or 0 in b.shape:
        return False
    # The data pointers of other devices may be handles, so only equal ones are comparable.
    handles = a.data_ptr() - a.byte_offset, b.data_ptr() - b.byte_offset
    if handles[0] != handles[1] and a.device.type not in DIRECT_ADDRESS_DEVICES:
        return False
    lower, upper = (a, b) if a.data_ptr() < b.data_ptr() else (b, a)
    distance = upper.data_ptr() - lower.data_ptr()
    if distance == 0:
        return True
    are_compact = a.is_contiguous() and b.is_contiguous()
    return bool(are_compact and distance < values.size_bytes(lower))


def _takes_unsigned(parameter: Parameter) -> bool:
    return isinstance(parameter.type, ScalarType) and parameter.type.dtype == "uint64"
