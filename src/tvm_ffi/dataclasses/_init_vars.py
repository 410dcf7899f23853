# SPDX-License-Identifier: Apache-2.0
"""``InitVar`` in a `py_class`: parameters of ``__init__`` that ``__post_init__`` receives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any, Callable

from .._types.type_info import MISSING, constructor_parameters, constructor_signature
from .field import Field, has_factory

if TYPE_CHECKING:
    from .._types.type_info import TypeInfo

__all__ = ["InitParameter", "init_parameter", "init_parameters_of", "init_with", "is_init_var"]

_INIT_VAR = re.compile(r"(\w+\.)*InitVar\b")


@dataclass(frozen=True)
class InitParameter:
    """A parameter of ``__init__`` without a field, with the attributes of a `TypeField`."""

    name: str
    c_default: Any
    c_kw_only: bool
    num_fields_before: int  # number of fields, with inherited fields, that precede the parameter
    c_init: bool = True

    @property
    def c_has_default(self) -> bool:
        """True if the parameter has a default value."""
        return self.c_default is not MISSING


def is_init_var(annotation: Any) -> bool:
    """Return True for the annotations ``InitVar`` and ``InitVar[T]``, also as strings."""
    text = getattr(annotation, "__forward_arg__", annotation)
    if isinstance(text, str):
        return _INIT_VAR.match(text.strip()) is not None
    return annotation is InitVar or isinstance(annotation, InitVar)


def init_parameter(cls: type, name: str, value: Any, kw_only: bool, position: int) -> InitParameter:
    """Return the parameter for the class attribute `value`: a default, a `Field` or MISSING."""
    if isinstance(value, Field):
        if has_factory(value):
            raise TypeError(f"{cls.__name__}.{name}: an InitVar cannot have a default factory")
        kw_only = kw_only if value.kw_only is None else value.kw_only
        value = value.default
    return InitParameter(name, value, kw_only, position)


def init_parameters_of(cls: Any) -> tuple[InitParameter, ...]:
    """Return the parameters without fields of a `py_class`, inherited parameters first."""
    found: tuple[InitParameter, ...] = getattr(cls, "__ffi_init_vars__", ())
    return found


def init_with(
    cls: Any,
    info: TypeInfo,
    construct: Callable[..., None],
    finish: Callable[..., None] | None,
) -> Callable[..., None]:
    """Return the ``__init__`` of a class that has parameters without fields.

    Parameters
    ----------
    cls : type
        The class.
    info : TypeInfo
        The native type of the class.
    construct : callable
        ``construct(self, **fields)`` sets the fields.
    finish : callable, optional
        ``finish(self, *values)`` is called afterwards with the values of the parameters in order
        of declaration.
    """
    own = init_parameters_of(cls)
    ordered = constructor_parameters(_merged(info.all_fields(), own))
    positional = [entry.name for entry in ordered if not entry.c_kw_only]
    defaults = {entry.name: entry.c_default for entry in own}

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if not (args or kwargs) and type(self) is not cls and self.__chandle__() != 0:
            return  # the `__init__` of a derived class has created the object
        given = _bound(cls, positional, args, kwargs)
        values = []
        for name, default in defaults.items():
            value = given.pop(name, MISSING)
            values.append(default if value is MISSING else value)
            if values[-1] is MISSING:
                raise TypeError(f"{cls.__name__}.__init__() missing required argument: {name!r}")
        construct(self, **given)
        if finish is not None:
            finish(self, *values)

    init.__name__, init.__module__ = "__init__", cls.__module__
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__signature__ = constructor_signature(ordered)  # type: ignore[attr-defined]
    return init


def _merged(fields: list[Any], parameters: Iterable[InitParameter]) -> list[Any]:
    """Return fields and parameters in order of declaration."""
    merged = list(fields)
    for num_inserted, entry in enumerate(parameters):
        merged.insert(entry.num_fields_before + num_inserted, entry)
    return merged


def _bound(
    cls: type, positional: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments by parameter name; the native constructor checks unknown names."""
    if len(args) > len(positional):
        raise TypeError(
            f"{cls.__name__}.__init__() takes at most {len(positional)} positional argument(s), "
            f"got {len(args)}"
        )
    given = dict(zip(positional, args))
    for name in kwargs:
        if name in given:
            raise TypeError(f"{cls.__name__}.__init__() got multiple values for argument {name!r}")
    given.update(kwargs)
    return given
