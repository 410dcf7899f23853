# SPDX-License-Identifier: Apache-2.0
"""What works on objects of all classes with fields: `fields`, `asdict`, `astuple`, `replace`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from .._types.builtin_classes import CLASS_OF_KEY
from ._annotations import own_annotations
from .field import Field

if TYPE_CHECKING:
    from .._types.type_info import TypeField, TypeInfo

__all__ = ["asdict", "astuple", "fields", "is_dataclass", "replace"]

_T = TypeVar("_T")
_Array, _List, _Map, _Dict = (
    CLASS_OF_KEY[key] for key in ("ffi.Array", "ffi.List", "ffi.Map", "ffi.Dict")
)


def is_dataclass(obj: Any) -> bool:
    """Whether a class, or that of an object, was made by `c_class`, `py_class` or an enum."""
    cls = obj if isinstance(obj, type) else type(obj)
    return getattr(cls, "__ffi_is_dataclass__", False) is True


def fields(obj_or_cls: Any) -> tuple[Field, ...]:
    """Return the fields of such a class or object, those of the bases first.

    Raises
    ------
    TypeError
        If it is no such class or object.
    """
    if not is_dataclass(obj_or_cls):
        name = getattr(obj_or_cls, "__name__", type(obj_or_cls).__name__)
        raise TypeError(
            f"fields() argument must be a c_class or py_class type or instance, got {name}"
        )
    info: TypeInfo | None = obj_or_cls.__tvm_ffi_type_info__
    rows: list[list[Field]] = []
    while info is not None:
        owner = info.type_cls
        rows.append([field_of_row(entry, owner) for entry in info.fields or []])
        info = info.parent_type_info
    return tuple(described for row in reversed(rows) for described in row)


def field_of_row(entry: TypeField, owner: type | None) -> Field:
    """Return what the class has said, or what the native type has."""
    if entry.dataclass_field is not None:
        return entry.dataclass_field  # type: ignore[no-any-return]
    described = Field(
        entry.name,
        entry.ty,
        default=entry.c_default,
        default_factory=entry.c_default_factory,
        frozen=entry.frozen,
        init=entry.c_init,
        repr=entry.c_repr,
        hash=entry.c_hash,
        compare=entry.c_compare,
        kw_only=entry.c_kw_only,
        structural_eq=entry.c_structural_eq,
        doc=entry.doc,
    )
    described.type = own_annotations(owner).get(entry.name) if owner is not None else None
    entry.dataclass_field = described
    return described


def asdict(obj: Any, *, dict_factory: Callable[..., Any] = dict) -> Any:
    """Return the fields of an object by name; those of objects in it as well.

    Containers become lists and dicts, everything else is copied with ``copy.deepcopy``.

    Parameters
    ----------
    obj : object
        Instance of a class with fields.
    dict_factory : callable
        Makes the result from pairs of name and value.

    Raises
    ------
    TypeError
        If it is no such instance.
    """
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError("asdict() should be called on c_class / py_class instances")
    return _plain(obj, dict_factory)


def astuple(obj: Any, *, tuple_factory: Callable[..., Any] = tuple) -> Any:
    """Return the fields of an object in order; those of objects in it as well.

    Parameters
    ----------
    obj : object
        Instance of a class with fields.
    tuple_factory : callable
        Makes the result from the values.

    Raises
    ------
    TypeError
        If it is no such instance.
    """
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError("astuple() should be called on c_class / py_class instances")
    return _plain(obj, lambda pairs: tuple_factory([value for _, value in pairs]))


def _plain(value: Any, make: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        names = [described.name for described in fields(value)]
        return make([(str(name), _plain(getattr(value, str(name)), make)) for name in names])
    if isinstance(value, (_Array, _List)):
        return [_plain(item, make) for item in value]
    if isinstance(value, (_Map, _Dict)):
        return {_plain(key, make): _plain(item, make) for key, item in value.items()}
    return copy.deepcopy(value)


def replace(obj: _T, /, **changes: Any) -> _T:
    """Return a copy of an object with other values in some fields, also frozen ones.

    The parts are shared with the original; ``__post_init__`` is not called.

    Raises
    ------
    TypeError
        If it is no instance of a class with fields, or a value has a wrong type.
    AttributeError
        If a name is no field's.
    """
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError("replace() should be called on c_class / py_class instances")
    return obj.__replace__(**changes)  # type: ignore[attr-defined, no-any-return]
