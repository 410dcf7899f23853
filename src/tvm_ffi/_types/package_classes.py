# SPDX-License-Identifier: Apache-2.0
"""Classes of this package that stand for native types.

What knows types (their fields, their conversion) is below the modules with these classes, so the
modules put them in here when they are loaded, which the package does.
"""

from __future__ import annotations

from typing import Any

from .._binding.object.object import type_key_to_index

CLASS_OF_KEY: dict[str, Any] = {}


def describe_late(type_key: str, cls: Any) -> None:
    """Note that a class stands for a native type; its type info is made when it is asked for."""
    cls.__tvm_ffi_type_info__ = _LateTypeInfo(type_key, cls)
    CLASS_OF_KEY[type_key] = cls


class _LateTypeInfo:
    """``__tvm_ffi_type_info__`` of a class of this package, made when it is first asked for."""

    def __init__(self, type_key: str, cls: type) -> None:
        self.type_key, self.cls = type_key, cls

    def __get__(self, obj: object, owner: type) -> Any:
        from .info import register_object_by_index

        index = type_key_to_index(self.type_key)
        assert index is not None  # one of the built-in types
        return register_object_by_index(index, self.cls)
