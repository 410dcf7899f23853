# SPDX-License-Identifier: Apache-2.0
"""Function names, ``dir`` and ``repr`` of modules, obtained without calling their functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._binding.object import get_object_metadata
from ..registry import get_global_func

if TYPE_CHECKING:
    from . import Module

__all__ = ["dir_names", "known_functions", "listed_function_names", "repr_text"]

_MAX_SHOWN = 5  # maximum number of function names in the repr of a module


def listed_function_names(module: Module) -> tuple[str, ...]:
    """Return the function names that the listing function of the module's kind returns.

    The listing function of the module kind KIND is the global function
    ``pytvmffi.Module.function_names.KIND``.  Return ``()`` if the kind has none.
    """
    name = f"pytvmffi.Module.function_names.{module.kind}"
    list_names: Any = get_global_func(name, allow_missing=True)
    return () if list_names is None else tuple(list_names(module))


def known_functions(module: Module) -> tuple[str, ...]:
    """Return the function names of a module, or ``()`` if listing them raises.

    Unlike ``module.functions``, the result does not depend on attributes of the instance.
    """
    try:
        return module._function_names()
    # Catch all exceptions, because third-party code may implement the module kind.
    except Exception:
        return ()


def dir_names(module: Module, attributes: list[str]) -> list[str]:
    """Return the names for ``dir``: attributes, and function names that are identifiers."""
    functions = (name for name in known_functions(module) if name.isidentifier())
    return sorted({*attributes, *functions})


def repr_text(module: Module) -> str:
    """Return the ``repr`` of a module: class, file, kind and function names."""
    cls = type(module)
    if not module.__chandle__():
        return f"{cls.__name__}(chandle=None)"
    package = "tvm_ffi" if cls.__module__.startswith("tvm_ffi.") else cls.__module__
    argument = getattr(get_object_metadata(module), "argument", None)
    where = f" {argument!r}" if argument else ""
    return (
        f"<{package}.{cls.__qualname__}{where} of kind {module.kind!r}"
        f"{_functions_text(known_functions(module))}>"
    )


def _functions_text(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    if len(names) <= _MAX_SHOWN:
        return f": {', '.join(names)}"
    return f": {', '.join(names[:_MAX_SHOWN])}, ... ({len(names)} functions)"
