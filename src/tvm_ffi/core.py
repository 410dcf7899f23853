# SPDX-License-Identifier: Apache-2.0
"""Face of the binding: its names under the module path that the contract gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._binding import load as _load  # isort: skip
from ._binding.call.function import Function
from ._binding.call.making import convert_func
from ._binding.call.making import convert_func as _convert_to_ffi_func
from ._binding.containers.container import CContainerBase
from ._binding.object.error import ERROR_NAME_TO_TYPE, ERROR_TYPE_TO_NAME, Error
from ._binding.object.error import error_from_exception as _convert_to_ffi_error
from ._binding.object.object import CObject, Object, ObjectRValueRef, OpaquePyObject, object_repr
from ._binding.object.object import opaque_object as _convert_to_opaque_object
from ._binding.object.object import type_key_to_index as _object_type_key_to_index
from ._binding.object.public_name import show_in as _show_in
from ._binding.tensor.dlpack import from_dlpack
from ._binding.tensor.tensor import Tensor
from ._binding.tensor.tensor import dlpack_version as __dlpack_version__
from ._binding.tensor.tensor import set_tensor_class as _set_class_tensor
from ._binding.types.field import FFIProperty, FieldGetter, FieldSetter
from ._binding.values.any import CAny
from ._binding.values.any import to_py_class_value as _to_py_class_value
from ._binding.values.device import Device, DLDeviceType, device_class
from ._binding.values.device import get_current_stream as _env_get_current_stream
from ._binding.values.device import set_current_stream as _env_set_current_stream
from ._binding.values.device import set_device_class as _set_class_device
from ._binding.values.dtype import DataType
from ._binding.values.dtype import create_dtype as _create_cdtype_from_tuple
from ._binding.values.dtype import set_dtype_class as _set_class_dtype
from ._binding.values.native_value import Bytes, PyNativeObject, String
from ._binding.values.pointer import OPAQUE_PTR_HANDLERS as _OPAQUE_PTR_HANDLERS
from ._binding.values.stand_in import ObjectConvertible
from ._binding.values.text import ByteArrayArg
from .registry import _register as _register_global_func
from .registry import get_global_func as _get_global_func

if TYPE_CHECKING:
    from ._binding.tensor.dltensor_wrapper import DLTensorTestWrapper
    from ._type_info import KWARGS, MISSING, TypeField, TypeInfo, TypeMethod
    from ._type_schema import TypeSchema

__all__ = [
    "ERROR_NAME_TO_TYPE",
    "ERROR_TYPE_TO_NAME",
    "KWARGS",
    "MISSING",
    "ByteArrayArg",
    "Bytes",
    "CAny",
    "CContainerBase",
    "CObject",
    "DLDeviceType",
    "DLTensorTestWrapper",
    "DataType",
    "Device",
    "Error",
    "FFIProperty",
    "FieldGetter",
    "FieldSetter",
    "Function",
    "Object",
    "ObjectConvertible",
    "ObjectRValueRef",
    "OpaquePyObject",
    "PyNativeObject",
    "String",
    "Tensor",
    "TypeField",
    "TypeInfo",
    "TypeMethod",
    "TypeSchema",
    "convert_func",
    "from_dlpack",
    "object_repr",
]


_show_in(
    __name__,
    *(ByteArrayArg, Bytes, CAny, CContainerBase, CObject, DLDeviceType, DataType, Device, Error),
    *(FFIProperty, FieldGetter, FieldSetter, Function, Object, ObjectConvertible, ObjectRValueRef),
    *(OpaquePyObject, PyNativeObject, String, Tensor, convert_func, from_dlpack, object_repr),
)

# Names that few programs ask for: loaded when that happens, from a module and by its name there.
_LATE = {
    "DLTensorTestWrapper": ("_binding.tensor.dltensor_wrapper", "DLTensorTestWrapper"),
    "_TRACEBACK_TO_BACKTRACE_STR": ("_binding.object.error", "backtrace_text"),
    "_WITH_APPEND_BACKTRACE": ("error", "_with_append_backtrace"),
    "_lookup_type_attr": ("_binding.types.attribute", "lookup_type_attr"),
    "_register_type_attr": ("_binding.types.attribute", "register_type_attr"),
    "_register_object_by_index": ("_type_info", "register_object_by_index"),
    "TypeSchema": ("_type_schema", "TypeSchema"),
    **{
        name: ("_type_info", name)
        for name in ("KWARGS", "MISSING", "TypeField", "TypeInfo", "TypeMethod")
    },
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "_CLASS_DEVICE":  # changes with _set_class_device
        return device_class()
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATE[name]
    value = getattr(import_module(f"{__package__}.{module}"), attribute)
    if name in __all__ and module.startswith("_binding."):
        _show_in(__name__, value)
    globals()[name] = value
    return value
