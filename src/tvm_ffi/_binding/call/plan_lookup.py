# SPDX-License-Identifier: Apache-2.0
"""Which signature a function has that is called for the first time.

Most functions have none, and nothing is loaded for them.  An origin says where a function was
found: it is the name of a global function, or a `ModuleOrigin`.
"""

from __future__ import annotations

from tvm_ffi._binding.call.function import Function
from tvm_ffi._binding.call.making import find_global_func
from tvm_ffi._binding.call.origin import ModuleOrigin, description_count
from tvm_ffi._lazy import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from tvm_ffi._binding.call.call_plan import CallPlan

__all__ = ["is_registered", "kept_plan_of", "metadata_of", "plan_of"]


def plan_of(function: Function, origin: str | ModuleOrigin | None) -> CallPlan | None:
    """Return how the arguments of a native function find its parameters; None without names."""
    if origin is None:
        return None
    if isinstance(origin, str):
        text = metadata_of(function, origin)
        return _plan_of_metadata(text, origin, lambda: "the table of global functions")
    plan = origin.known_plan()
    if plan is None:
        before = description_count()
        text = metadata_of(function, origin)
        plan = _plan_of_metadata(text, origin.name, origin.library) or False
        plan = origin.keep_plan(plan, before)
    return plan or None


def kept_plan_of(function: Function, origin: str | ModuleOrigin | None) -> CallPlan | None:
    """Return the same for a function that keeps it, and is told when it is another one."""
    if isinstance(origin, ModuleOrigin):
        origin.add_wrapper(function)  # first: it may become another one meanwhile
    return plan_of(function, origin)


def metadata_of(function: Function, origin: str | ModuleOrigin) -> str | None:
    """Return what is said where a function was found; None, and a warning, if a library fails."""
    if isinstance(origin, str):
        return _metadata_of_global(function, origin)
    try:
        return origin.metadata()
    except MemoryError:  # which says nothing about the metadata
        raise
    except Exception as error:
        from tvm_ffi.signature._metadata import warn_damaged

        warn_damaged(origin.name, origin.library(), error)
        return None


def _metadata_of_global(function: Function, name: str) -> str | None:
    """Return what the table says; None if the name is not, or no longer, that of the function.

    Other threads may register and remove: the function is compared after the answer has come.
    """
    ask: Any = find_global_func("ffi.GetGlobalFuncMetadata")
    try:
        text: str = ask(name)
    except RuntimeError:  # there is no such name
        return None
    return text if is_registered(function, name) else None


def _plan_of_metadata(text: str | None, name: str, library: Callable[[], str]) -> CallPlan | None:
    if not text or '"signature"' not in text:
        return None
    from tvm_ffi._binding.call.planning import plan_of_metadata

    return plan_of_metadata(text, name, library())


def is_registered(function: Function, name: str) -> bool:
    """Whether the global function of this name is (still) this one."""
    return function == find_global_func(name)
