# SPDX-License-Identifier: Apache-2.0
"""Fields that may hold Python values: assigning one tells the garbage collector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._binding.object import LinkedObject
from .._binding.types import FFIProperty, relink

if TYPE_CHECKING:
    from .._schema.schema import Schema
    from .._types.type_info import TypeInfo

_HOLDING = ("Any", "Callable", "Object")


class HolderProperty(FFIProperty):
    """A field that may hold a Python value."""

    def set(self, obj: Any, value: Any) -> None:
        """Write the field of `obj`, whether it is read-only or not."""
        super().set(obj, value)
        relink(obj)


def add_holders(info: TypeInfo) -> tuple[Any, ...] | None:
    """Let the class of a type watch fields that may hold Python values, and return their getters.

    None when there are none: then objects cost what others do.
    """
    cls: Any = info.type_cls
    holding = [x for x in info.all_fields() if x.ty is not None and _may_hold(x.ty)]
    if not holding or not issubclass(cls, LinkedObject):
        return None
    for entry in info.fields:
        present = vars(cls).get(entry.name)
        if entry in holding and type(present) is FFIProperty:
            made = HolderProperty(
                entry.getter, entry.setter, present.frozen, present.fdel, entry.doc
            )
            made.__set_name__(cls, entry.name)
            setattr(cls, entry.name, made)
    cls.__ffi_holders__ = tuple(entry.getter for entry in holding)
    return cls.__ffi_holders__  # type: ignore[no-any-return]


def _may_hold(schema: Schema) -> bool:
    if schema.origin in ("Optional", "Union"):
        return any(_may_hold(arg) for arg in schema.args or ())
    return schema.origin in _HOLDING
