# SPDX-License-Identifier: Apache-2.0
"""Extent names, such as ``n``, that the checks of a signature bind to a value in each call."""

from __future__ import annotations

from ..signature import Signature
from ..signature._checks import Check, Failure, checks
from ._wrapper import is_optional

__all__ = ["extent_failure", "extent_names", "is_unsigned", "may_be_unknown", "range_failure"]


def extent_names(signature: Signature) -> list[str]:
    """Return the names that tensor extents and integer parameters bind, in binding order."""
    extents = [check.extent for check in checks(signature)]
    return list(dict.fromkeys(extent for extent in extents if isinstance(extent, str)))


def may_be_unknown(signature: Signature, name: str) -> bool:
    """Return True if a name may have no value, because a call may skip the check that binds it."""
    first = next(check for check in checks(signature) if check.extent == name)
    return is_optional(first.parameter)


def is_unsigned(check: Check) -> bool:
    """Return True if the parameter of a check is a uint64."""
    return getattr(check.parameter.type, "dtype", "") == "uint64"


def range_failure(signature: Signature, position: int) -> Failure:
    """Return the `Failure` (error kind and message) of the range check of a parameter."""
    return _range_check(signature, position).failures["range"]


def extent_failure(signature: Signature, position: int) -> Failure | None:
    """Return the `Failure` for a uint64 that is too large for an extent; None without the check."""
    return _range_check(signature, position).failures.get("large")


def _range_check(signature: Signature, position: int) -> Check:
    for check in checks(signature):
        if check.kind == "range" and check.position == position:
            return check
    raise AssertionError(position)
