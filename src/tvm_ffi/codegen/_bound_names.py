# SPDX-License-Identifier: Apache-2.0
"""What printers ask of a plan: which names it binds, and which of them a call may leave unknown."""

from __future__ import annotations

from ..signature import Signature
from ..signature._checks import Check, Failure, checks
from ._wrapper import is_optional

__all__ = ["extent_names", "is_unsigned", "may_be_unknown", "range_failure"]


def extent_names(signature: Signature) -> list[str]:
    """Return the names that extents and integers bind, in the order in which they are met."""
    extents = [check.extent for check in checks(signature)]
    return list(dict.fromkeys(extent for extent in extents if isinstance(extent, str)))


def may_be_unknown(signature: Signature, name: str) -> bool:
    """Whether the first check that meets a name may be left out."""
    first = next(check for check in checks(signature) if check.extent == name)
    return is_optional(first.parameter) or (first.kind == "integer" and is_unsigned(first))


def is_unsigned(check: Check) -> bool:
    """Whether a check is about an integer that 64 bits with a sign may not hold."""
    return getattr(check.parameter.type, "dtype", "") == "uint64"


def range_failure(signature: Signature, position: int) -> Failure:
    """Return what is said of an integer that does not fit its type."""
    for check in checks(signature):
        if check.kind == "range" and check.position == position:
            return check.failures["range"]
    raise AssertionError(position)
