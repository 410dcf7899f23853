# SPDX-License-Identifier: Apache-2.0
"""Loads what every program needs, in order; imported before any other name of the binding.

Most modules are loaded by those that use a name of theirs.  These have none: one makes the C ABI's
symbols known, the others are rows in the table of conversion rules.
"""

from __future__ import annotations

# First: all that is loaded later needs the symbols of the C ABI.
from .object import library  # isort: skip
from .._internal.lazy import Any
from .call import cycles  # type: ignore[attr-defined]  # has no stub
from .call.function import set_description_loader
from .call.plan_lookup import kept_plan_of
from .call.planned_call import set_plan_lookup
from .tensor import (  # type: ignore[attr-defined]  # have no stubs
    cuda_array,
    exporter,
    numpy_array,
    torch_capsule,
)

__all__ = ["cuda_array", "cycles", "exporter", "library", "numpy_array", "torch_capsule"]


def _load_description() -> Any:
    from .call import description  # knows `inspect`, which takes long

    return description


set_description_loader(_load_description)
set_plan_lookup(kept_plan_of)
