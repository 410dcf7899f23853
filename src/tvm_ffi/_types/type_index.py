# SPDX-License-Identifier: Apache-2.0
"""Lookup of the type index of a schema origin, and of the type key of a type index."""

from __future__ import annotations

from typing import Any

from .._binding.call import find_global_func
from .._binding.object import type_key_to_index
from .._schema.names import INDEX_OF_WORD, NO_TYPE, key_of_origin


def index_of_origin(origin: str) -> int:
    """Return the type index of a schema origin; see `TypeSchema.origin_type_index`."""
    if origin in INDEX_OF_WORD:
        return INDEX_OF_WORD[origin]
    index = type_key_to_index(key_of_origin(origin))
    return NO_TYPE if index is None else index


_key_by_index: dict[int, str] = {}


def key_of_index(index: int) -> str | None:
    """Return the type key of an index; None if no type with this index is registered.

    The C function ``TVMFFIGetTypeInfo`` aborts the process on unknown indices, so the keys of all
    registered types are searched instead.
    """
    if index not in _key_by_index:
        list_keys: Any = find_global_func("ffi.GetRegisteredTypeKeys")
        for key in list_keys():
            registered = type_key_to_index(key)
            if registered is not None:
                _key_by_index[registered] = key
    return _key_by_index.get(index)
