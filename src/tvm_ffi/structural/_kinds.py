# SPDX-License-Identifier: Apache-2.0
"""Enumerations of structural traversals: order, callback results, in-place mode, regions."""

from enum import IntEnum


class WalkOrder(IntEnum):
    """Order of a walk: callbacks are called for a value before or after its children."""

    PREORDER = 0
    POSTORDER = 1


class WalkResult(IntEnum):
    """Result of a callback: `ADVANCE` continues the walk, `SKIP` also omits the value's children.

    `SKIP` has an effect only in pre-order.
    """

    ADVANCE = 0
    SKIP = 1


class InplaceMode(IntEnum):
    """Permission for a callback of `structural_mutate` to modify its argument in place."""

    DISALLOW = 0
    ALLOW = 1


class DefRegionKind(IntEnum):
    """Kind of definition region: which variables in a field are definitions, not uses.

    In a field of kind `DEF_PATTERN`, all variables at any depth are definitions.  In a field of
    kind `DEF_SIMPLE`, only variables that are the value of the field or elements of its containers
    are definitions.  In all other fields (`NONE`), variables are uses.
    """

    NONE = 0
    DEF_PATTERN = 1
    DEF_SIMPLE = 2
