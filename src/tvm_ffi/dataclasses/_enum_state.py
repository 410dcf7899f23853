# SPDX-License-Identifier: Apache-2.0
"""`EnumState`: the type attribute that contains the variants of an enumeration.

Native code and Python share this object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._binding.types import lookup_type_attr, register_type_attr
from .._types.builtin_classes import CLASS_OF_KEY
from .._types.type_info import MISSING
from ..core import Object
from ._legacy_enum import fill_from_legacy_attributes
from .c_class import c_class

if TYPE_CHECKING:
    from ..container import Dict

__all__ = ["ENUM_STATE_ATTR", "EnumAttrMap", "EnumState"]

ENUM_STATE_ATTR = "__ffi_enum__"


@c_class("ffi.EnumState")
class EnumState(Object):
    """The variants of an enumeration, and the values of its columns (`EnumAttrMap`).

    Attributes
    ----------
    entries : List
        Variants in order of definition.
    indexes : Dict
        Variants by integer index and by string index, in one Dict.
    attrs : Dict
        Columns by name; each column is a Dict of values by variant.
    """

    # The module from which users import the class, for pickle and help().
    __module__ = "tvm_ffi.dataclasses.enum"

    entries: Any
    indexes: Any
    attrs: Any

    if TYPE_CHECKING:

        def __init__(self) -> None: ...


def state_of(type_index: int) -> Any:
    """Return the `EnumState` of an enumeration; register a new one if the type has none."""
    state = find_state(type_index)
    if state is None:
        state = EnumState()
        fill_from_legacy_attributes(state, type_index)
        register_type_attr(type_index, ENUM_STATE_ATTR, state)
    return state


def find_state(type_index: int) -> Any:
    """Return the `EnumState` of an enumeration, or None if the type has none yet.

    Raises TypeError if the type attribute is another object.
    """
    state = lookup_type_attr(type_index, ENUM_STATE_ATTR)
    if state is not None and not isinstance(state, EnumState):
        raise TypeError(
            f"type attribute {ENUM_STATE_ATTR}: expected an `ffi.EnumState`, got "
            f"{type(state).__name__}"
        )
    return state


class EnumAttrMap:
    """A column of an enumeration: a mapping from variants to values.

    Parameters
    ----------
    enum_cls : type
        The enumeration.
    name : str
        Name of the column.
    default : object
        Value for variants without a value; by default reading them raises KeyError.
    """

    # The module from which users import the class, for pickle and help().
    __module__ = "tvm_ffi.dataclasses.enum"

    def __init__(self, enum_cls: type, name: str, *, default: Any = MISSING) -> None:
        self._cls, self._name, self._default = enum_cls, name, default

    @property
    def name(self) -> str:
        """Name of the column."""
        return self._name

    def _column(self, make: bool = False) -> Dict[Any, Any] | None:
        attrs = state_of(self._cls.__tvm_ffi_type_info__.type_index).attrs  # type: ignore[attr-defined]
        if make and self._name not in attrs:
            attrs[self._name] = CLASS_OF_KEY["ffi.Dict"]()
        return attrs.get(self._name)  # type: ignore[no-any-return]

    def _variant(self, variant: object) -> Any:
        if not isinstance(variant, self._cls):
            raise TypeError(
                f"column {self._name!r}: expected a variant of {self._cls.__name__} as key, got "
                f"{type(variant).__name__}"
            )
        return variant

    def __getitem__(self, variant: object) -> Any:
        value = self.get(variant, MISSING)
        if value is not MISSING:
            return value
        if self._default is not MISSING:
            return self._default
        raise KeyError(f"{variant!r} has no extensible attribute {self._name!r}")

    def __setitem__(self, variant: object, value: Any) -> None:
        column = self._column(make=True)
        assert column is not None
        column[self._variant(variant)] = value

    def __contains__(self, variant: object) -> bool:
        column = self._column()
        return isinstance(variant, self._cls) and column is not None and variant in column

    def get(self, variant: object, default: Any = None) -> Any:
        """Return the value of a variant in this column, or `default` if the variant has none."""
        variant, column = self._variant(variant), self._column()
        return default if column is None else column.get(variant, default)
