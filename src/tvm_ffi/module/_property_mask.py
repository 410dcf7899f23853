# SPDX-License-Identifier: Apache-2.0
"""The enumeration `ModulePropertyMask` of module capabilities."""

from __future__ import annotations

from enum import IntEnum

from .._binding.object import show_in

__all__ = ["ModulePropertyMask"]


class ModulePropertyMask(IntEnum):
    """Capabilities of a module; bits of ``Module.get_property_mask()``."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    COMPILATION_EXPORTABLE = 4


show_in("tvm_ffi.module", ModulePropertyMask)
