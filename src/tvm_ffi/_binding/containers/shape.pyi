# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable
from typing import Any

from tvm_ffi._binding.object.object import CObject
from tvm_ffi._binding.values.native_value import PyNativeObject

class Shape(tuple[int, ...], PyNativeObject):
    __tvm_ffi_type_info__: Any
    def __new__(cls, content: Iterable[int]) -> Shape: ...
    @staticmethod
    def __from_tvm_ffi_object__(value_class: type[Shape], obj: CObject) -> Shape: ...
