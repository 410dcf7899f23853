# SPDX-License-Identifier: Apache-2.0
"""Errors that wrappers raise after the argument checks; C and LLVM IR have the same messages."""

from __future__ import annotations

from ..signature import TensorType
from ..signature._checks import Failure, operations
from ..signature._expression import Extent
from ._wrapper import MAX_NDIM, Argument, Wrapper

__all__ = [
    "does_not_fit",
    "failed_status",
    "negative_extent",
    "negative_workspace",
    "nul_in_text",
    "operation_failures",
    "result_prefix",
    "too_many_dimensions",
]


def nul_in_text(wrapper: Wrapper, name: str) -> Failure:
    """Return the `Failure` for a NUL in a C string; ``{got}`` is the index of the NUL."""
    where = f"{wrapper.name}() argument '{name}': "
    return Failure(
        "ValueError", f"{where}expected a string without NUL bytes, got one at index {{got}}"
    )


def does_not_fit(function: str, argument: Argument) -> Failure:
    """Return the `Failure` for a number that exceeds an integer type; ``{got}`` is the number."""
    template = f"{function}(): {argument} = {{got}} does not fit {argument.dtype}"
    return Failure("ValueError", template)


def negative_workspace(function: str, argument: Argument) -> Failure:
    """Return the `Failure` for a workspace of negative size; ``{got}`` is the size in bytes."""
    return Failure("ValueError", f"{function}(): {argument} must have >= 0 bytes, got {{got}}")


def result_prefix(function: str, name: str) -> str:
    """Return the start of error messages about a result: the function and the result."""
    return f"{function}() result '{name}': "


def negative_extent(where: str, type_: TensorType, axis: int) -> Failure:
    """Return the `Failure` for a result with a negative extent; ``{got}`` is the extent."""
    if type_.gap is not None and axis > type_.gap:
        axis -= len(type_.shape or ())  # the number of dimensions before it is not constant
    return Failure("ValueError", f"{where}shape[{axis}] must be >= 0, got {{got}}")


def too_many_dimensions(where: str, name: str, num_others: int) -> Failure:
    """Return the `Failure` for a result with too many dimensions; ``{got}`` is their number.

    Parameters
    ----------
    where : str
        Start of the message.
    name : str
        Ellipsis in the shape of the result, such as ``*s``.
    num_others : int
        Number of other dimensions of the result.
    """
    most = MAX_NDIM - num_others
    template = f"{where}expected at most {most} dimensions for {name}, got {{got}}"
    return Failure("ValueError", template)


def failed_status(wrapper: Wrapper) -> Failure:
    """Return the `Failure` for a nonzero status of the callee; ``{got}`` is the status."""
    callees = dict.fromkeys(wrapper.callees.values())
    template = f"{wrapper.name}() failed: {' or '.join(callees)} returned {{got}}"
    return Failure("RuntimeError", template)


def operation_failures(where: str, extent: Extent) -> dict[str, Failure]:
    """Return a dict of the failures in evaluating an extent; `Check` documents the keys."""
    failures = {}
    for operation in operations(extent):
        failures[f"zero {operation}"] = Failure(
            "ValueError", f"{where}`{operation}` divides by zero"
        )
        failures[f"overflow {operation}"] = Failure(
            "ValueError", f"{where}`{operation}` does not fit 64 bits"
        )
    return failures
