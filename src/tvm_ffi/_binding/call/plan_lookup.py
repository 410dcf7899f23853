# SPDX-License-Identifier: Apache-2.0
"""Which signature a function has that is called for the first time.

Most functions have none, and nothing is loaded for them.  An origin says where a function was
found: it is the name of a global function, or a `ModuleOrigin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

from tvm_ffi._binding.call.function import Function
from tvm_ffi._binding.call.making import find_global_func
from tvm_ffi._binding.call.origin import ModuleOrigin

if TYPE_CHECKING:
    from tvm_ffi._binding.call.call_plan import CallPlan

__all__ = ["Origin", "is_registered", "plan_of"]

Origin = Union[str, ModuleOrigin, None]


def plan_of(function: Function, origin: Origin) -> CallPlan | None:
    """Return how the arguments of a native function find its parameters; None without names."""
    if origin is None:
        return None
    if isinstance(origin, str):
        if not is_registered(function, origin):
            return None
        ask: Any = find_global_func("ffi.GetGlobalFuncMetadata")
        return _plan_of_metadata(ask(origin), origin)
    if origin.plan is None:
        origin.plan = _plan_of_metadata(origin.metadata(), origin.name) or False
    return origin.plan or None


def _plan_of_metadata(text: str | None, name: str) -> CallPlan | None:
    if not text or '"signature"' not in text:
        return None
    from tvm_ffi._binding.call.planning import plan_of_metadata

    return plan_of_metadata(text, name)


def is_registered(function: Function, name: str) -> bool:
    """Whether the global function of this name is (still) this one."""
    return function == find_global_func(name)
