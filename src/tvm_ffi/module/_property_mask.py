# SPDX-License-Identifier: Apache-2.0
"""The enumeration `ModulePropertyMask` of module capabilities."""

from __future__ import annotations

from enum import IntEnum

from .._binding.object import set_public_module

__all__ = ["ModulePropertyMask"]


class ModulePropertyMask(IntEnum):
    """Bits of ``Module.get_property_mask()``; each bit is a capability of the module."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    COMPILATION_EXPORTABLE = 4


set_public_module("tvm_ffi.module", ModulePropertyMask)
