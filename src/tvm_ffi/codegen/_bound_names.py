# SPDX-License-Identifier: Apache-2.0
"""Extent names that the checks of a signature bind; the C and LLVM printers use them."""

from __future__ import annotations

from ..signature import Signature
from ..signature._checks import Check, Failure, checks
from ._wrapper import is_optional

__all__ = ["extent_names", "is_unsigned", "may_be_unknown", "range_failure"]


def extent_names(signature: Signature) -> list[str]:
    """Return the names that tensor extents and integer parameters bind, in binding order."""
    extents = [check.extent for check in checks(signature)]
    return list(dict.fromkeys(extent for extent in extents if isinstance(extent, str)))


def may_be_unknown(signature: Signature, name: str) -> bool:
    """Return True if a call may skip the first check that binds a name, and leave it unbound."""
    first = next(check for check in checks(signature) if check.extent == name)
    return is_optional(first.parameter) or (first.kind == "integer" and is_unsigned(first))


def is_unsigned(check: Check) -> bool:
    """Return True if the parameter of a check is a uint64, which may exceed an int64."""
    return getattr(check.parameter.type, "dtype", "") == "uint64"


def range_failure(signature: Signature, position: int) -> Failure:
    """Return the failure of the range check of a parameter."""
    for check in checks(signature):
        if check.kind == "range" and check.position == position:
            return check.failures["range"]
    raise AssertionError(position)
