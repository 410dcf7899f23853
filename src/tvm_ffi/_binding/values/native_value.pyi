# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable

from typing_extensions import Self

from tvm_ffi._binding.object.object import CObject

class PyNativeObject:
    _tvm_ffi_cached_object: CObject | None
    def __init_cached_object_by_constructor__(
        self, fconstructor: Callable[..., Any], *args: Any
    ) -> None: ...

class String(str, PyNativeObject):
    def __new__(cls, value: str) -> Self: ...
    @staticmethod
    def __from_tvm_ffi_object__(value_class: type[String], obj: CObject) -> String: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...

class Bytes(bytes, PyNativeObject):
    def __new__(cls, value: bytes) -> Self: ...
    @staticmethod
    def __from_tvm_ffi_object__(value_class: type[Bytes], obj: CObject) -> Bytes: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...
