# SPDX-License-Identifier: Apache-2.0
"""Enumerations of structural traversals: order, callback results, in-place mode, regions."""

from enum import IntEnum


class WalkOrder(IntEnum):
    """Order of a walk: callbacks are called for a value before or after its children."""

    PREORDER = 0
    POSTORDER = 1


class WalkResult(IntEnum):
    """Result of a callback; in pre-order, `SKIP` means not to visit the children of the value."""

    ADVANCE = 0
    SKIP = 1


class InplaceMode(IntEnum):
    """Whether a callback of `structural_mutate` may modify its argument in place."""

    DISALLOW = 0
    ALLOW = 1


class DefRegionKind(IntEnum):
    """Kind of definition region: whether variables in a field are defined there.

    In a field of kind `DEF_PATTERN`, all variables at any depth are definitions.  In a field of
    kind `DEF_SIMPLE`, only variables that are the value of the field or elements of its containers
    are definitions.  In all other fields (`NONE`), variables are uses.
    """

    NONE = 0
    DEF_PATTERN = 1
    DEF_SIMPLE = 2
