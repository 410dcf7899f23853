# SPDX-License-Identifier: Apache-2.0
"""Numbers that traversals take and give, by name."""

from enum import IntEnum


class WalkOrder(IntEnum):
    """Whether a callback sees a value before or after what it holds."""

    PREORDER = 0
    POSTORDER = 1


class WalkResult(IntEnum):
    """What a walk does after a callback; `SKIP` leaves out what the value holds, in pre-order."""

    ADVANCE = 0
    SKIP = 1


class InplaceMode(IntEnum):
    """Whether a callback of `structural_mutate` may change the value that it is given."""

    DISALLOW = 0
    ALLOW = 1


class DefRegionKind(IntEnum):
    """Whether a value lies in a field that defines variables.

    In `DEF_PATTERN` all variables below are definitions; in `DEF_SIMPLE` only those that the field
    holds directly, or in containers.
    """

    NONE = 0
    DEF_PATTERN = 1
    DEF_SIMPLE = 2
