# SPDX-License-Identifier: Apache-2.0
"""Enumerations of structural traversals: order, result of a callback, modes and regions."""

from enum import IntEnum


class WalkOrder(IntEnum):
    """Order of a walk: a value before or after its children."""

    PREORDER = 0
    POSTORDER = 1


class WalkResult(IntEnum):
    """Result of a callback; in pre-order, `SKIP` leaves out the children of the value."""

    ADVANCE = 0
    SKIP = 1


class InplaceMode(IntEnum):
    """Whether a callback of `structural_mutate` may modify its argument in place."""

    DISALLOW = 0
    ALLOW = 1


class DefRegionKind(IntEnum):
    """Kind of the field that contains a value: whether it defines variables.

    In `DEF_PATTERN` all variables at any depth are definitions; in `DEF_SIMPLE` only variables that
    are values of the field itself or elements of its containers.
    """

    NONE = 0
    DEF_PATTERN = 1
    DEF_SIMPLE = 2
