# SPDX-License-Identifier: Apache-2.0
"""What modules show of themselves: names of functions, file and kind.  No function is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._binding.object import note_of
from ..registry import get_global_func

if TYPE_CHECKING:
    from . import Module

__all__ = ["attributes_of", "known_functions", "native_function_names", "text_of"]

_MOST_SHOWN = 5  # functions in the text of a module


def native_function_names(module: Module) -> tuple[str, ...]:
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


def attributes_of(module: Module, others: list[str]) -> list[str]:
    """Return what ``dir`` lists: functions whose names are identifiers, and all others."""
    functions = (name for name in known_functions(module) if name.isidentifier())
    return sorted({*others, *functions})


def text_of(module: Module) -> str:
    """Return what ``repr`` shows."""
    cls = type(module)
    if not module.__chandle__():
        return f"{cls.__name__}(chandle=None)"
    package = "tvm_ffi" if cls.__module__.startswith("tvm_ffi.") else cls.__module__
    place = getattr(note_of(module), "place", None)
    where = f" {place!r}" if place else ""
    return (
        f"<{package}.{cls.__qualname__}{where} of kind {module.kind!r}"
        f"{_text_of_functions(known_functions(module))}>"
    )


def _text_of_functions(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    if len(names) <= _MOST_SHOWN:
        return f": {', '.join(names)}"
    return f": {', '.join(names[:_MOST_SHOWN])}, ... ({len(names)} functions)"
