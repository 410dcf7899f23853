# SPDX-License-Identifier: Apache-2.0
"""Fields that may own Python values; an assignment updates the garbage collector's links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._binding.object import LinkedObject
from .._binding.types import FFIProperty, relink

if TYPE_CHECKING:
    from .._schema.schema import Schema
    from .._types.type_info import TypeInfo

_ORIGINS = ("Any", "Callable", "Object")


class CollectorProperty(FFIProperty):
    """Property of a field that may own a Python value."""

    def set(self, obj: Any, value: Any) -> None:
        """Write the field, even a read-only field, and update the garbage collector's links."""
        super().set(obj, value)
        relink(obj)


def track_python_fields(info: TypeInfo) -> tuple[Any, ...] | None:
    """Let assignments to fields that may own Python values update the collector's links.

    Return the getters of these fields.  If the type has no such field, return None; the garbage
    collector then does not track objects of the type.
    """
    cls: Any = info.type_cls
    tracked = [x for x in info.all_fields() if x.ty is not None and _may_own_python_value(x.ty)]
    if not tracked or not issubclass(cls, LinkedObject):
        return None
    for entry in info.fields:
        present = vars(cls).get(entry.name)
        if entry in tracked and type(present) is FFIProperty:
            prop = CollectorProperty(
                entry.getter, entry.setter, present.frozen, present.fdel, entry.doc
            )
            prop.__set_name__(cls, entry.name)
            setattr(cls, entry.name, prop)
    cls.__ffi_holders__ = tuple(entry.getter for entry in tracked)
    return cls.__ffi_holders__  # type: ignore[no-any-return]


def _may_own_python_value(schema: Schema) -> bool:
    if schema.origin in ("Optional", "Union"):
        return any(_may_own_python_value(arg) for arg in schema.args or ())
    return schema.origin in _ORIGINS
