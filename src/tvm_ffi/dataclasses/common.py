# SPDX-License-Identifier: Apache-2.0
"""Functions on classes with fields: `is_dataclass`, `fields`, `asdict`, `astuple`, `replace`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from .._types.builtin_classes import CLASS_OF_KEY
from .field import Field, field_of_reflected

if TYPE_CHECKING:
    from .._types.type_info import TypeInfo

__all__ = ["asdict", "astuple", "fields", "is_dataclass", "replace"]

_T = TypeVar("_T")
_Array, _List, _Map, _Dict = (
    CLASS_OF_KEY[key] for key in ("ffi.Array", "ffi.List", "ffi.Map", "ffi.Dict")
)


def is_dataclass(obj: Any) -> bool:
    """Return True if a class, or the class of an object, has reflected fields.

    Enumerations, and the classes that `c_class` or `py_class` decorates, have reflected fields.

    Parameters
    ----------
    obj : object or type
        The object or class to examine.
    """
    cls = obj if isinstance(obj, type) else type(obj)
    return getattr(cls, "__ffi_is_dataclass__", False) is True


def fields(obj_or_cls: Any) -> tuple[Field, ...]:
    """Return the fields of a class or object, inherited fields first.

    Parameters
    ----------
    obj_or_cls : object or type
        A class of `c_class` or `py_class`, an enumeration, or an instance of one of these.

    Returns
    -------
    tuple of Field
        The fields in order of registration.

    Raises
    ------
    TypeError
        If `obj_or_cls` is not such a class or instance.
    """
    if not is_dataclass(obj_or_cls):
        name = getattr(obj_or_cls, "__name__", type(obj_or_cls).__name__)
        raise TypeError(
            f"fields() argument must be a c_class or py_class type or instance, got {name}"
        )
    info: TypeInfo | None = obj_or_cls.__tvm_ffi_type_info__
    levels: list[list[Field]] = []
    while info is not None:
        owner = info.type_cls
        levels.append([field_of_reflected(entry, owner) for entry in info.fields or []])
        info = info.parent_type_info
    return tuple(spec for level in reversed(levels) for spec in level)


def asdict(obj: Any, *, dict_factory: Callable[..., Any] = dict) -> Any:
    """Return a dict of the fields of an object by name; nested objects become dicts, too.

    Parameters
    ----------
    obj : object
        Instance of a class with fields.
    dict_factory : callable
        Called for each object with a list of (name, value) pairs; returns the dict.

    Returns
    -------
    dict
        Result of `dict_factory` for `obj`.  Containers become lists and dicts; other values are
        copied with ``copy.deepcopy``.

    Raises
    ------
    TypeError
        If `obj` is not an instance of a class with fields.
    """
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError(
            f"asdict() should be called on c_class / py_class instances, got {type(obj).__name__}"
        )
    return _plain(obj, dict_factory)


def astuple(obj: Any, *, tuple_factory: Callable[..., Any] = tuple) -> Any:
    """Return a tuple of the fields of an object in order; nested objects become tuples, too.

    Parameters
    ----------
    obj : object
        Instance of a class with fields.
    tuple_factory : callable
        Called for each object with a list of values; returns the tuple.

    Returns
    -------
    tuple
        Result of `tuple_factory` for `obj`; values are converted as by `asdict`.

    Raises
    ------
    TypeError
        If `obj` is not an instance of a class with fields.
    """
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError(
            f"astuple() should be called on c_class / py_class instances, got {type(obj).__name__}"
        )
    return _plain(obj, lambda pairs: tuple_factory([value for _, value in pairs]))


def _plain(value: Any, make: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        names = [spec.name for spec in fields(value)]
        return make([(str(name), _plain(getattr(value, str(name)), make)) for name in names])
    if isinstance(value, (_Array, _List)):
        return [_plain(item, make) for item in value]
    if isinstance(value, (_Map, _Dict)):
        return {_plain(key, make): _plain(item, make) for key, item in value.items()}
    return copy.deepcopy(value)


def replace(obj: _T, /, **changes: Any) -> _T:
    """Return a shallow copy of an object with new values in some fields, even in frozen fields.

    ``__post_init__`` is not called for the copy.

    Parameters
    ----------
    obj : object
        Instance of a class with fields.
    **changes
        New values of fields, by field name.

    Returns
    -------
    object
        The copy.

    Raises
    ------
    TypeError
        If `obj` is not an instance of a class with fields, or a value has the wrong type.
    AttributeError
        If the object has no field of a name in `changes`.
    """
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError(
            f"replace() should be called on c_class / py_class instances, got {type(obj).__name__}"
        )
    return obj.__replace__(**changes)  # type: ignore[attr-defined, no-any-return]
