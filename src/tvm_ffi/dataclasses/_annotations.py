# SPDX-License-Identifier: Apache-2.0
"""Annotations of a class body or function: lookup and evaluation."""

from __future__ import annotations

import builtins
import sys
import types
import typing
from typing import Any, Callable


def own_annotations(owner: type | Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a class body or function; string annotations stay strings."""
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
    """Names for evaluating annotations: module, builtins, class body and registered classes.

    Parameters
    ----------
    owner : type
        The class that contains the annotations.
    find_class : callable
        Returns the registered Python class for a module and a name, or None if there is none.
    """

    def __init__(self, owner: type, find_class: Callable[[str, str], type | None]) -> None:
        super().__init__({owner.__name__: owner})
        self._owner, self._find_class = owner, find_class

    def __missing__(self, name: str) -> Any:
        owner = self._owner
        module = getattr(sys.modules.get(owner.__module__), "__dict__", {})
        for namespace in (module, vars(builtins), vars(owner)):
            if name in namespace:
                return namespace[name]
        found = self._find_class(owner.__module__, name)
        if found is None:
            raise KeyError(name)
        return found


def evaluate(annotation: Any, names: Names) -> Any:
    """Return the value of an annotation, such as a class; evaluate string annotations.

    Raises NameError if the annotation contains a name that is not defined yet.
    """
    annotated = types.SimpleNamespace(__annotations__={"field": annotation})
    return typing.get_type_hints(annotated, {}, names, include_extras=True)["field"]
