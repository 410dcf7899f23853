# SPDX-License-Identifier: Apache-2.0
"""Type variables in annotations of fields, and what a field is that is annotated with one.

A native type has one layout for all arguments of its class, so ``Box[int]`` and ``Box[str]`` are
the same type: its fields are what all arguments have in common.  Only a mixin, whose fields become
those of the class that derives from it, is known with its arguments.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any, Callable, TypeVar, Union

Arguments = Mapping[Any, Any]  # by type variable


def substitute(annotation: Any, arguments: Arguments) -> Any:
    """Return an annotation with arguments in the place of those type variables that have one."""
    return _replace(annotation, lambda variable: arguments.get(variable, variable))


def without_type_variables(annotation: Any) -> Any:
    """Return an annotation that admits what it does for any argument of its type variables.

    A variable with a bound is its bound, one with constraints is their union, others are Any.
    """
    return _replace(annotation, _widest)


def _widest(variable: Any) -> Any:
    if not isinstance(variable, TypeVar):
        return ...  # the parameters of a callable
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
    """Return the arguments that a class gives to its generic bases, also by way of others."""
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
