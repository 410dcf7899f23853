# SPDX-License-Identifier: Apache-2.0
"""Generated wrappers: functions that check arguments by a signature and call a C function.

>>> from tvm_ffi import codegen
>>> source = codegen.c.wrapper("scale(x: float32*[n], y: out float32*[n], n: int32, a: float32)")

`wrap_library` wraps functions of an existing library, and `LaunchPlan` describes the launch of GPU
kernels.  `tvm_ffi.codegen.llvm` writes LLVM IR instead of C.  It is imported separately, because it
needs llvmlite.
"""

from __future__ import annotations

from . import c
from ._device_image import DeviceImage
from ._launch import LaunchPlan, described_plans, make_launch_plan
from ._launch_module import launch_module
from ._launch_parts import Condition, Launch
from ._library import wrap_library
from ._wrapper import Argument, Wrapper, make_wrapper

__all__ = [
    "Argument",
    "Condition",
    "DeviceImage",
    "Launch",
    "LaunchPlan",
    "Wrapper",
    "c",
    "described_plans",
    "launch_module",
    "make_launch_plan",
    "make_wrapper",
    "wrap_library",
]
