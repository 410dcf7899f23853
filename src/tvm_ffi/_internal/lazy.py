# SPDX-License-Identifier: Apache-2.0
"""Lazy imports: attributes that a module imports on first access (`late_attributes`).

    if TYPE_CHECKING:
        from .cpp import cache

    __getattr__ = late_attributes(globals(), {"cache": ".cache"})

The first access imports the value and stores it as an ordinary attribute of the module.

The names `TYPE_CHECKING`, `Any`, `Callable`, `Mapping` and `SupportsIndex` of this module replace
those of `typing`, whose import is slow.
"""

from __future__ import annotations

import sys

# Importing `typing` takes a third of the time of importing this package.  Type checkers treat the
# name TYPE_CHECKING as true wherever it is defined.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, SupportsIndex
else:  # functions such as `inspect.get_annotations` get the names of `typing` if it is imported
    from _collections_abc import Callable, Iterable, Mapping

    _typing = sys.modules.get("typing")
    Any = getattr(_typing, "Any", object)
    SupportsIndex = getattr(_typing, "SupportsIndex", object)

__all__ = ["TYPE_CHECKING", "Any", "Callable", "Mapping", "SupportsIndex", "late_attributes"]


def late_attributes(
    namespace: dict[str, Any],
    sources: Mapping[str, str | Callable[[], Any]],
    public: Iterable[str] = (),
) -> Callable[[str], Any]:
    """Return a function that a module can use as its ``__getattr__`` for lazy imports.

    The module also gets a ``__dir__``, which lists the public names: those of ``__all__``,
    `sources` and `public`, and imported modules below this one.

    Parameters
    ----------
    namespace : dict
        ``globals()`` of the module.
    sources : mapping from str to str or callable
        The source of each attribute: ``".module"`` imports a module, relative to the package;
        ``".module:attribute"`` imports an attribute of a module.  A callable is called on each
        access, and its result is not stored.
    public : iterable of str
        Public names that are not in ``__all__``.
    """
    public = frozenset(public)

    def load(name: str) -> Any:
        source = sources.get(name)
        if source is None:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        if not isinstance(source, str):
            return source()
        from importlib import import_module

        module, _, attribute = source.partition(":")
        loaded = import_module(module, namespace["__package__"])
        value = getattr(loaded, attribute) if attribute else loaded
        namespace[name] = value
        return value

    def is_module_below(value: object) -> bool:
        return isinstance(value, type(sys)) and value.__name__.startswith(
            f"{namespace['__name__']}."
        )

    def list_names() -> list[str]:
        names = {*public, *sources, *(n for n, x in list(namespace.items()) if is_module_below(x))}
        special = (name for name in list(namespace) if name.startswith("__"))
        return sorted({*special, *namespace.get("__all__", ()), *(n for n in names if n[0] != "_")})

    namespace["__dir__"] = list_names
    return load
