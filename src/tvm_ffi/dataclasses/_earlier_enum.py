# SPDX-License-Identifier: Apache-2.0
"""Enumerations as libraries built with headers of 0.1.11 and 0.1.12 register them.

There is no state object, but up to three attributes of the type:

- ``__ffi_enum_entries__``: the variants by name
- ``__ffi_enum_value_entries__``: the variants by their values, where they have some
- ``__ffi_enum_attrs__``: for each column a list of values by ordinal, None where there is none
"""

from __future__ import annotations

from typing import Any

from .._binding.types import lookup_type_attr
from .._types.builtin_classes import CLASS_OF_KEY

__all__ = ["fill_from_earlier_form"]


def fill_from_earlier_form(state: Any, type_index: int) -> None:
    """Put into a new state what is registered in the earlier form, if anything is.

    Parameters
    ----------
    state : EnumState
        A state without variants.
    type_index : int
        The enumeration, for which a class is registered.

    Raises
    ------
    TypeError
        If a library has registered something else under these names.
    """
    by_name = _dict_of(type_index, "__ffi_enum_entries__")
    variants = sorted(by_name.values(), key=lambda variant: variant._int_index)
    by_value = _dict_of(type_index, "__ffi_enum_value_entries__")
    for variant in variants:
        state.entries.append(variant)
    if not by_value:
        by_value = {variant._int_index: variant for variant in variants}
    for index, variant in [*by_value.items(), *by_name.items()]:
        state.indexes[index] = variant
    for name, values in _dict_of(type_index, "__ffi_enum_attrs__").items():
        column = CLASS_OF_KEY["ffi.Dict"]()
        for variant, value in zip(variants, values):
            if value is not None:
                column[variant] = value
        state.attrs[name] = column


def _dict_of(type_index: int, attribute: str) -> Any:
    found = lookup_type_attr(type_index, attribute)
    if found is None:
        return {}
    if not isinstance(found, (CLASS_OF_KEY["ffi.Dict"], CLASS_OF_KEY["ffi.Map"])):
        raise TypeError(f"expected `ffi.Dict` in {attribute}, got {type(found).__name__}")
    return found
