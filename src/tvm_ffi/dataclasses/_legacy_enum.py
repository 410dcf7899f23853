# SPDX-License-Identifier: Apache-2.0
"""Enumerations of libraries that were compiled against ABI level 0.1.11 or 0.1.12.

These libraries register up to three type attributes instead of an `EnumState`:

- ``__ffi_enum_entries__``: variants by name
- ``__ffi_enum_value_entries__``: variants by value, if the variants have values
- ``__ffi_enum_attrs__``: a list per column; element i is the value of variant i, or None
"""

from __future__ import annotations

from typing import Any

from .._binding.types import lookup_type_attr
from .._types.builtin_classes import CLASS_OF_KEY

__all__ = ["fill_from_legacy_attributes"]


def fill_from_legacy_attributes(state: Any, type_index: int) -> None:
    """Fill an empty `EnumState` from the older type attributes of an enumeration, if it has them.

    Libraries of the ABI levels 0.1.11 and 0.1.12 store variants in these attributes, the names of
    which contain ``__ffi_enum_``.  Raises TypeError if an attribute is not a dictionary.
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
        raise TypeError(
            f"type attribute {attribute}: expected an `ffi.Dict`, got {type(found).__name__}"
        )
    return found
