# SPDX-License-Identifier: Apache-2.0
"""Public names of the binding; third-party packages import them from this module."""

from __future__ import annotations

from ._binding import load as _load  # isort: skip
from ._binding.call import Function, PreparedCall, Sequence, convert_func, run
from ._binding.call import convert_func as _convert_to_ffi_func
from ._binding.containers import CContainerBase
from ._binding.object import (
    ERROR_NAME_TO_TYPE,
    ERROR_TYPE_TO_NAME,
    CObject,
    Error,
    Object,
    ObjectRValueRef,
    OpaquePyObject,
    object_repr,
)
from ._binding.object import error_from_exception as _convert_to_ffi_error
from ._binding.object import hooks as _hooks
from ._binding.object import opaque_object as _convert_to_opaque_object
from ._binding.object import set_public_module as _set_public_module
from ._binding.object import type_key_to_index as _object_type_key_to_index
from ._binding.tensor import Tensor, from_dlpack
from ._binding.tensor import dlpack_version as __dlpack_version__
from ._binding.tensor import set_tensor_class as _set_class_tensor
from ._binding.types import FFIProperty, FieldGetter, FieldSetter
from ._binding.values import OPAQUE_PTR_HANDLERS as _OPAQUE_PTR_HANDLERS
from ._binding.values import (
    ByteArrayArg,
    Bytes,
    CAny,
    DataType,
    Device,
    ObjectConvertible,
    PyNativeObject,
    String,
    device_class,
)
from ._binding.values import address_of_stream as _address_of_stream
from ._binding.values import create_dtype as _create_cdtype_from_tuple
from ._binding.values import get_current_stream as _env_get_current_stream
from ._binding.values import set_current_stream as _env_set_current_stream
from ._binding.values import set_device_class as _set_class_device
from ._binding.values import set_dtype_class as _set_class_dtype
from ._binding.values import to_py_class_value as _to_py_class_value
from ._internal.lazy import TYPE_CHECKING, late_attributes
from ._types.lazy_container_converter import container_converter as _container_converter
from ._types.lazy_type_info import attach_lazy_type_info
from .registry import _register as _register_global_func
from .registry import get_global_func as _get_global_func

if TYPE_CHECKING:
    from ._binding.tensor import DLTensorTestWrapper
    from ._internal.dlpack_codes import DLDeviceType
    from ._types.schema import TypeSchema
    from ._types.type_info import KWARGS, MISSING, TypeField, TypeInfo, TypeMethod

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
    "PreparedCall",
    "PyNativeObject",
    "Sequence",
    "String",
    "Tensor",
    "TypeField",
    "TypeInfo",
    "TypeMethod",
    "TypeSchema",
    "convert_func",
    "from_dlpack",
    "object_repr",
    "run",
]


_set_public_module(
    __name__,
    *(ByteArrayArg, Bytes, CAny, CContainerBase, CObject, DataType, Device, Error),
    *(FFIProperty, FieldGetter, FieldSetter, Function, Object, ObjectConvertible, ObjectRValueRef),
    *(OpaquePyObject, PreparedCall, PyNativeObject, Sequence, String, Tensor, convert_func),
    *(from_dlpack, object_repr, run),
)


attach_lazy_type_info("ffi.Object", Object)
_hooks.container_converter = _container_converter


def _load_test_wrapper() -> type:
    from ._binding.tensor import DLTensorTestWrapper

    _set_public_module(__name__, DLTensorTestWrapper)
    return DLTensorTestWrapper


# Rarely used names, which are imported on first access.
__getattr__ = late_attributes(
    globals(),
    {
        "BoundCall": "._binding.call:PreparedCall",  # earlier name
        "DLDeviceType": "._internal.dlpack_codes:DLDeviceType",
        "DLTensorTestWrapper": _load_test_wrapper,
        "KWARGS": "._types.type_info:KWARGS",
        "MISSING": "._types.type_info:MISSING",
        "TypeField": "._types.type_info:TypeField",
        "TypeInfo": "._types.type_info:TypeInfo",
        "TypeMethod": "._types.type_info:TypeMethod",
        "TypeSchema": "._types.schema:TypeSchema",
        # `device_class` is called on each access, because `_set_class_device` changes the class.
        "_CLASS_DEVICE": device_class,
        "_TRACEBACK_TO_BACKTRACE_STR": "._binding.object:backtrace_text",
        "_WITH_APPEND_BACKTRACE": "._internal.traceback:with_append_backtrace",
        "_lookup_type_attr": "._binding.types:lookup_type_attr",
        "_register_object_by_index": "._types.type_info:register_object_by_index",
        "_register_type_attr": "._binding.types:register_type_attr",
        "_type_cls_to_type_info": "._types.type_info_lookup:type_info_of_class",
        "_type_index_to_type_info": "._types.type_info_lookup:type_info_of_index",
    },
)
