# SPDX-License-Identifier: Apache-2.0
"""The enumeration `ModulePropertyMask` of module capabilities."""

from __future__ import annotations

from enum import IntEnum

from .._binding.object import set_public_module

__all__ = ["ModulePropertyMask"]


class ModulePropertyMask(IntEnum):
    """Capabilities of a module; bits of ``Module.get_property_mask()``."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    COMPILATION_EXPORTABLE = 4


set_public_module("tvm_ffi.module", ModulePropertyMask)
