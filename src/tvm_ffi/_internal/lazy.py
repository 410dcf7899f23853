# SPDX-License-Identifier: Apache-2.0
"""The one way in which a module of this package loads what most programs do without.

    if TYPE_CHECKING:
        from .cpp import cache

    __getattr__ = late_attributes(globals(), {"cache": ".cache"})

A name is loaded when it is first asked for, and is an ordinary attribute from then on.
"""

from __future__ import annotations

import sys

# The same as that of `typing`, which together with what it imports takes a third as long to load as
# this package.  Type checkers know the name wherever it is from.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, SupportsIndex
else:  # what reads annotations as programs run: `typing` if it is there, or what admits as much
    from _collections_abc import Callable, Mapping

    _typing = sys.modules.get("typing")
    Any = getattr(_typing, "Any", object)
    SupportsIndex = getattr(_typing, "SupportsIndex", object)

__all__ = ["TYPE_CHECKING", "Any", "Callable", "Mapping", "SupportsIndex", "late_attributes"]


def late_attributes(
    namespace: dict[str, Any], places: Mapping[str, str | Callable[[], Any]]
) -> Callable[[str], Any]:
    """Return what a module needs as its ``__getattr__``.

    Parameters
    ----------
    namespace : dict
        ``globals()`` of the module.
    places : mapping from str to str or callable
        Where each name is: ``".module"``, relative to the package as in an import, for a module;
        ``".module:attribute"`` for what is in one.  What a callable returns is not kept.
    """

    def load(name: str) -> Any:
        place = places.get(name)
        if place is None:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        if not isinstance(place, str):
            return place()
        from importlib import import_module

        module, _, attribute = place.partition(":")
        loaded = import_module(module, namespace["__package__"])
        value = getattr(loaded, attribute) if attribute else loaded
        namespace[name] = value
        return value

    return load
