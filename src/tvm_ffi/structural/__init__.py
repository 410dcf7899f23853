# SPDX-License-Identifier: Apache-2.0
"""Structural equality, hash, traversal and rewriting of values by their reflected fields.

Compilers represent programs as trees and graphs of objects, to which these functions apply.
Variables are compared by the position of their definition, not by name.
"""

# `typing.get_type_hints` looks names in annotations of the classes up in this module.
from typing import Any  # noqa: F401

from .._internal.public_name import set_public_module
from .._types.builtin_classes import CLASS_OF_KEY
from ..core import Object  # noqa: F401
from ._comparison import (
    StructuralKey,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from ._kinds import DefRegionKind, InplaceMode, WalkOrder, WalkResult
from ._mutation import StructuralMutator, structural_map, structural_mutate
from ._visit import (
    StructuralVisitor,
    VisitErrorContext,
    VisitInterrupt,
    structural_visit,
    structural_walk,
)

__all__ = [
    "DefRegionKind",
    "InplaceMode",
    "StructuralKey",
    "StructuralMutator",
    "StructuralVisitor",
    "VisitErrorContext",
    "VisitInterrupt",
    "WalkOrder",
    "WalkResult",
    "get_first_structural_mismatch",
    "structural_equal",
    "structural_hash",
    "structural_map",
    "structural_mutate",
    "structural_visit",
    "structural_walk",
]

List = CLASS_OF_KEY["ffi.List"]

set_public_module(globals())
