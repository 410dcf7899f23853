# SPDX-License-Identifier: Apache-2.0
"""What the libraries in this process have registered, in a fixed order."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from .._binding.object import type_key_to_index
from .._types.type_info import type_info_of
from ..registry import get_global_func_metadata, get_registered_type_keys, list_global_func_names
from ..signature._metadata import named_signature
from .utils import FuncInfo, ObjectInfo, callable_schema

if TYPE_CHECKING:
    from ..container import Array

__all__ = [
    "GetRegisteredTypeKeys",
    "collect_global_funcs",
    "collect_type_keys",
    "object_info_from_type_key",
    "toposort_objects",
]


def GetRegisteredTypeKeys() -> Array[str]:  # noqa: N802 - the contract's name
    """Return the keys of all registered types."""
    return get_registered_type_keys()


def collect_global_funcs() -> dict[str, list[FuncInfo]]:
    """Return the global functions by prefix, which is all before the last dot, sorted by name.

    Functions without a prefix are left out.
    """
    by_prefix: dict[str, list[FuncInfo]] = {}
    for name in sorted(list_global_func_names()):
        prefix, _, short_name = name.rpartition(".")
        if prefix and short_name:
            by_prefix.setdefault(prefix, []).append(_global_func(name))
    return by_prefix


def _global_func(name: str) -> FuncInfo:
    metadata = get_global_func_metadata(name)
    signature = named_signature(metadata, name, "registered functions")
    return FuncInfo.from_schema(name, callable_schema(metadata), signature=signature)


def collect_type_keys() -> dict[str, list[str]]:
    """Return the keys of types by prefix, which is all before the last dot, sorted.

    Keys without a prefix, such as those of plain values, are left out.
    """
    by_prefix: dict[str, list[str]] = {}
    for key in sorted(str(key) for key in get_registered_type_keys()):
        prefix, _, short_name = key.rpartition(".")
        if prefix and short_name:
            by_prefix.setdefault(prefix, []).append(key)
    return by_prefix


def object_info_from_type_key(type_key: str) -> ObjectInfo:
    """Return the description of a type.

    Raises
    ------
    ValueError
        If no type has this key.
    """
    index = type_key_to_index(type_key)
    if index is None:
        raise ValueError(f"Cannot find type key: {type_key}")
    return ObjectInfo.from_type_info(type_info_of(index))


def toposort_objects(type_keys: list[str]) -> list[ObjectInfo]:
    """Return the descriptions of types, parents before children, else by key."""
    infos = {key: object_info_from_type_key(key) for key in type_keys}
    children: dict[str, list[str]] = {}
    ready = []
    for key, info in infos.items():
        # The nearest ancestor that takes part; those between may live elsewhere.
        above = next((name for name in reversed(info.ancestors) if name in infos), None)
        if above is None:
            ready.append(key)
        else:
            children.setdefault(above, []).append(key)
    heapq.heapify(ready)
    in_order = []
    while ready:
        key = heapq.heappop(ready)
        in_order.append(infos[key])
        for child in children.get(key, ()):
            heapq.heappush(ready, child)
    return in_order
