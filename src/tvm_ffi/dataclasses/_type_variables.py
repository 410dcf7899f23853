# SPDX-License-Identifier: Apache-2.0
"""Type variables in the annotations of fields of generic classes.

``Box[int]`` and ``Box[str]`` are one native type with one layout, so a field of type ``T`` admits
values of every type argument.  The fields of a generic mixin belong to the derived class.  If that
class specifies the type arguments, they replace the type variables.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any, Callable, TypeVar, Union

Arguments = Mapping[Any, Any]  # mapping from type variables to type arguments


def substitute(annotation: Any, arguments: Arguments) -> Any:
    """Return an annotation in which type variables are replaced by the given arguments."""
    return _replace(annotation, lambda variable: arguments.get(variable, variable))


def without_type_variables(annotation: Any) -> Any:
    """Return an annotation without type variables that admits values of every type argument.

    A type variable becomes its bound, the union of its constraints, or Any.
    """
    return _replace(annotation, _widest)


def _widest(variable: Any) -> Any:
    if not isinstance(variable, TypeVar):
        # A ParamSpec becomes `...`, which allows any parameters of a callable.
        return ...
    if variable.__bound__ is not None:
        return variable.__bound__
    return Union[variable.__constraints__] if variable.__constraints__ else Any


def _replace(annotation: Any, replacement: Callable[[Any], Any]) -> Any:
    if isinstance(annotation, TypeVar):
        return replacement(annotation)
    variables = () if isinstance(annotation, type) else getattr(annotation, "__parameters__", ())
    if not variables:
        return annotation
    return annotation[tuple(map(replacement, variables))]


def arguments_of_bases(cls: type) -> dict[type, Arguments]:
    """Return the type arguments of the direct and indirect generic bases of a class."""
    found: dict[type, Arguments] = {}
    _add_arguments(cls, {}, found)
    return found


def _add_arguments(cls: type, own: Arguments, found: dict[type, Arguments]) -> None:
    found.setdefault(cls, own)
    for base in vars(cls).get("__orig_bases__", cls.__bases__):
        origin = typing.get_origin(base) or base
        if not isinstance(origin, type) or origin in (typing.Generic, object):
            continue
        variables = getattr(origin, "__parameters__", ())
        given = (substitute(argument, own) for argument in typing.get_args(base))
        _add_arguments(origin, dict(zip(variables, given)), found)
