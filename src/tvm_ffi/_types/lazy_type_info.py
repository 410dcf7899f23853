# SPDX-License-Identifier: Apache-2.0
"""Lazy creation of ``__tvm_ffi_type_info__`` in the classes for built-in types."""

from __future__ import annotations

from .._binding.object import type_key_to_index
from .._internal.lazy import Any
from .builtin_classes import CLASS_OF_KEY


def attach_lazy_type_info(type_key: str, cls: Any) -> None:
    """Register `cls` for a built-in type; create the `TypeInfo` of the type on first access."""
    cls.__tvm_ffi_type_info__ = _LazyTypeInfo(type_key, cls)
    CLASS_OF_KEY[type_key] = cls


class _LazyTypeInfo:
    """Descriptor that replaces itself with the `TypeInfo` of a class."""

    def __init__(self, type_key: str, cls: type) -> None:
        self.type_key, self.cls = type_key, cls

    def __get__(self, obj: object, owner: type) -> Any:
        from .type_info import register_object_by_index

        index = type_key_to_index(self.type_key)
        assert index is not None  # the runtime registers built-in types at start
        return register_object_by_index(index, self.cls)
