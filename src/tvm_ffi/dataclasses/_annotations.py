# SPDX-License-Identifier: Apache-2.0
"""Annotations of a class's own body: as they are written, and what they mean."""

from __future__ import annotations

import builtins
import sys
import types
import typing
from typing import Any, Callable


def own_annotations(owner: type | Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a class's own body, or of a function, as they are written."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format, get_annotations

        return get_annotations(owner, format=Format.FORWARDREF)
    annotations: dict[str, Any]
    if isinstance(owner, type):
        annotations = vars(owner).get("__annotations__", {})
    else:
        annotations = getattr(owner, "__annotations__", {})
    return annotations


class Names(dict[str, Any]):
    """Where names in annotations of a class are looked up, one place after the other.

    Parameters
    ----------
    owner : type
        The class with the annotations.
    find_class : callable
        Gives a class that is defined in Python and registered, by module and name, or None.
    """

    def __init__(self, owner: type, find_class: Callable[[str, str], type | None]) -> None:
        super().__init__({owner.__name__: owner})
        self._owner, self._find_class = owner, find_class

    def __missing__(self, name: str) -> Any:
        owner = self._owner
        module = getattr(sys.modules.get(owner.__module__), "__dict__", {})
        for place in (module, vars(builtins), vars(owner)):
            if name in place:
                return place[name]
        found = self._find_class(owner.__module__, name)
        if found is None:
            raise KeyError(name)
        return found


def evaluate(annotation: Any, names: Names) -> Any:
    """Return what an annotation means.

    Raises
    ------
    NameError
        If a name in it is not known yet.
    """
    holder = types.SimpleNamespace(__annotations__={"field": annotation})
    return typing.get_type_hints(holder, {}, names, include_extras=True)["field"]
