# SPDX-License-Identifier: Apache-2.0
"""``__tvm_ffi_type_info__`` of the package's own classes: most programs do not ask for it."""

from __future__ import annotations

from .._binding.object import type_key_to_index
from .._internal.lazy import Any
from .builtin_classes import CLASS_OF_KEY


def attach_lazy_type_info(type_key: str, cls: Any) -> None:
    """Note that a class stands for a native type; its type info is made when it is asked for."""
    cls.__tvm_ffi_type_info__ = _LazyTypeInfo(type_key, cls)
    CLASS_OF_KEY[type_key] = cls


class _LazyTypeInfo:
    def __init__(self, type_key: str, cls: type) -> None:
        self.type_key, self.cls = type_key, cls

    def __get__(self, obj: object, owner: type) -> Any:
        from .type_info import register_object_by_index

        index = type_key_to_index(self.type_key)
        assert index is not None  # one of the built-in types
        return register_object_by_index(index, self.cls)
