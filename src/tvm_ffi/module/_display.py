# SPDX-License-Identifier: Apache-2.0
"""What modules show of themselves: names of functions, file and kind.  No function is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._binding.object import note_of
from ..registry import get_global_func

if TYPE_CHECKING:
    from . import Module

__all__ = ["dir_names", "known_functions", "listed_function_names", "repr_text"]

_MOST_SHOWN = 5  # functions in the text of a module


def listed_function_names(module: Module) -> tuple[str, ...]:
    """Return the names that the lister of the module's kind tells; none where there is no lister.

    It is the global function ``pytvmffi.Module.function_names.KIND``.
    """
    tell: Any = get_global_func(f"pytvmffi.Module.function_names.{module.kind}", allow_missing=True)
    return () if tell is None else tuple(tell(module))


def known_functions(module: Module) -> tuple[str, ...]:
    """Return `Module.functions`, whatever an instance calls so; nothing where listing fails."""
    try:
        return module._function_names()
    except Exception:  # a kind may be written by anyone
        return ()


def dir_names(module: Module, others: list[str]) -> list[str]:
    """Return what ``dir`` lists: functions whose names are identifiers, and all others."""
    functions = (name for name in known_functions(module) if name.isidentifier())
    return sorted({*others, *functions})


def repr_text(module: Module) -> str:
    """Return what ``repr`` shows."""
    cls = type(module)
    if not module.__chandle__():
        return f"{cls.__name__}(chandle=None)"
    package = "tvm_ffi" if cls.__module__.startswith("tvm_ffi.") else cls.__module__
    argument = getattr(note_of(module), "argument", None)
    where = f" {argument!r}" if argument else ""
    return (
        f"<{package}.{cls.__qualname__}{where} of kind {module.kind!r}"
        f"{_functions_text(known_functions(module))}>"
    )


def _functions_text(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    if len(names) <= _MOST_SHOWN:
        return f": {', '.join(names)}"
    return f": {', '.join(names[:_MOST_SHOWN])}, ... ({len(names)} functions)"
