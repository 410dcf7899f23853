# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable
from typing import Any

from ._native_value import PyNativeObject
from ._object import CObject

class Shape(tuple[int, ...], PyNativeObject):
    __tvm_ffi_type_info__: Any
    def __new__(cls, content: Iterable[int]) -> Shape: ...
    @staticmethod
    def __from_tvm_ffi_object__(value_class: type[Shape], obj: CObject) -> Shape: ...
