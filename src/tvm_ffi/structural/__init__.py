# SPDX-License-Identifier: Apache-2.0
"""Comparison, traversal and rewriting of values by what their types say they consist of.

Programs of compilers are such values: trees and graphs of objects, with variables that are equal by
the place where they are defined and not by their names.
"""

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

for _public in __all__:
    globals()[_public].__module__ = __name__  # pickles and `help` name this place
