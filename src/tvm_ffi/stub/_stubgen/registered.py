# SPDX-License-Identifier: Apache-2.0
"""Registered global functions and object types of this process, sorted by name."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..._binding.object import type_key_to_index
from ..._types.type_info import type_info_of
from ...registry import get_global_func_metadata, get_registered_type_keys, list_global_func_names
from ...signature._metadata import named_signature
from .object_info import FuncInfo, ObjectInfo, callable_schema

if TYPE_CHECKING:
    from ...container import Array

__all__ = [
    "BUILTIN_TYPE_KEYS",
    "GetRegisteredTypeKeys",
    "Registered",
    "collect_global_funcs",
    "collect_type_keys",
    "object_info_from_type_key",
    "toposort_objects",
]

# Types for which each language's package has a class, so ``prefix`` and ``--init-*`` skip them.
BUILTIN_TYPE_KEYS = {
    "ffi.BigInt",
    "ffi.Bytes",
    "ffi.Error",
    "ffi.Function",
    "ffi.Object",
    "ffi.OpaquePyObject",
    "ffi.SmallBytes",
    "ffi.SmallStr",
    "ffi.String",
    "ffi.Tensor",
}


class Registered:
    """The registered functions and types by prefix, read once per run."""

    def __init__(self) -> None:
        self.funcs = collect_global_funcs()
        self.type_keys: dict[str, list[str]] = {
            prefix: kept
            for prefix, keys in collect_type_keys().items()
            if (kept := [key for key in keys if key not in BUILTIN_TYPE_KEYS])
        }
        self.all_type_keys = {str(key) for key in get_registered_type_keys()}


def GetRegisteredTypeKeys() -> Array[str]:  # noqa: N802 - the contract's name
    """Return the keys of all registered types."""
    return get_registered_type_keys()


def collect_global_funcs() -> dict[str, list[FuncInfo]]:
    """Return the global functions by prefix (the name up to the last dot), sorted by name.

    Functions without a prefix are omitted.
    """
    grouped = _by_prefix(list_global_func_names())
    return {prefix: [_global_func(name) for name in names] for prefix, names in grouped.items()}


def _global_func(name: str) -> FuncInfo:
    metadata = get_global_func_metadata(name)
    signature = named_signature(metadata, name, "registered functions")
    return FuncInfo.from_schema(name, callable_schema(metadata), signature=signature)


def collect_type_keys() -> dict[str, list[str]]:
    """Return the type keys by prefix (the key up to the last dot), sorted.

    Keys without a prefix are omitted, such as those of integers and other plain values.
    """
    return _by_prefix(map(str, get_registered_type_keys()))


def _by_prefix(names: Iterable[str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name in sorted(names):
        prefix, _, short_name = name.rpartition(".")
        if prefix and short_name:
            grouped.setdefault(prefix, []).append(name)
    return grouped


def object_info_from_type_key(type_key: str) -> ObjectInfo:
    """Return the description of the registered type with this key.

    Raises
    ------
    ValueError
        If the type key is not registered.
    """
    index = type_key_to_index(type_key)
    if index is None:
        raise ValueError(f"Cannot find type key: {type_key}")
    return ObjectInfo.from_type_info(type_info_of(index))


def toposort_objects(type_keys: list[str]) -> list[ObjectInfo]:
    """Return the descriptions of types, parents before children, otherwise sorted by key."""
    infos = {key: object_info_from_type_key(key) for key in type_keys}
    children: dict[str, list[str]] = {}
    ready = []
    for key, info in infos.items():
        # Find the nearest ancestor in `type_keys`, because the parent may not be in `type_keys`.
        ancestor = next((name for name in reversed(info.ancestors) if name in infos), None)
        if ancestor is None:
            ready.append(key)
        else:
            children.setdefault(ancestor, []).append(key)
    heapq.heapify(ready)
    in_order = []
    while ready:
        key = heapq.heappop(ready)
        in_order.append(infos[key])
        for child in children.get(key, ()):
            heapq.heappush(ready, child)
    return in_order
