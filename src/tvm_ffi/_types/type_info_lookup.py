# SPDX-License-Identifier: Apache-2.0
"""Lookup of `TypeInfo` by Python class or type index."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._binding.object import load_late_class, type_key_to_index
from .annotation import KEY_OF_CLASS
from .type_index import key_of_index
from .type_info import TypeInfo, registered_info, type_info_of


def type_info_of_class(type_cls: Any) -> TypeInfo | None:
    """Return the `TypeInfo` of the type that a class represents; None for other classes."""
    if not isinstance(type_cls, type):
        return None
    if "__tvm_ffi_type_info__" in vars(type_cls):
        info: TypeInfo = type_cls.__tvm_ffi_type_info__  # type: ignore[attr-defined]
        return info
    index = type_key_to_index(KEY_OF_CLASS.get(type_cls, ""))
    return None if index is None else replace(type_info_of(index), type_cls=type_cls)


def type_info_of_index(type_index: int) -> TypeInfo | None:
    """Return the `TypeInfo` of a type; None if the type or a class for it is not registered."""
    key = key_of_index(type_index)
    if key is None:
        return None
    load_late_class(type_index)
    classes = (cls for cls, its_key in KEY_OF_CLASS.items() if its_key == key)
    return registered_info(type_index) or type_info_of_class(next(classes, None))
