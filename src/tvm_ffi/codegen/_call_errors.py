# SPDX-License-Identifier: Apache-2.0
"""What is said of failures behind the checks: in all languages the same."""

from __future__ import annotations

from ..signature._checks import Failure, operations
from ..signature._expression import Extent
from ._wrapper import Argument, Wrapper

__all__ = [
    "does_not_fit",
    "failed_status",
    "negative_extent",
    "negative_workspace",
    "nul_in_text",
    "operation_failures",
    "result_prefix",
]


def nul_in_text(wrapper: Wrapper, name: str) -> Failure:
    """Return what is said of text that C would see the beginning of; got, the place of the NUL."""
    where = f"{wrapper.name}() argument '{name}': "
    return Failure(
        "ValueError", f"{where}expected a string without NUL bytes, got one at index {{got}}"
    )


def does_not_fit(function: str, argument: Argument) -> Failure:
    """Return what is said of an argument that is converted to a narrower integer; got."""
    template = f"{function}(): {argument} = {{got}} does not fit {argument.dtype}"
    return Failure("ValueError", template)


def negative_workspace(function: str, argument: Argument) -> Failure:
    """Return what is said of memory that cannot be lent; got, the bytes."""
    return Failure("ValueError", f"{function}(): {argument} must have >= 0 bytes, got {{got}}")


def result_prefix(function: str, name: str) -> str:
    """Return what failures about a result begin with."""
    return f"{function}() result '{name}': "


def negative_extent(where: str, axis: int) -> Failure:
    """Return what is said of a result that cannot be allocated; got, the extent."""
    return Failure("ValueError", f"{where}shape[{axis}] must be >= 0, got {{got}}")


def failed_status(wrapper: Wrapper) -> Failure:
    """Return what is said when the function behind reports a failure; got, what it returned."""
    callees = dict.fromkeys(wrapper.callees.values())
    template = f"{wrapper.name}() failed: {' or '.join(callees)} returned {{got}}"
    return Failure("RuntimeError", template)


def operation_failures(where: str, extent: Extent) -> dict[str, Failure]:
    """Return what may come of calculating an extent, by the names that the plan has for it."""
    failures = {}
    for operation in operations(extent):
        failures[f"zero {operation}"] = Failure(
            "ValueError", f"{where}`{operation}` divides by zero"
        )
        failures[f"overflow {operation}"] = Failure(
            "ValueError", f"{where}`{operation}` does not fit 64 bits"
        )
    return failures
