# SPDX-License-Identifier: Apache-2.0
"""Conversion of Python values to FFI values (`tvm_ffi.convert`)."""

from __future__ import annotations

import sys

from ._binding.call import convert_func
from ._binding.object import CObject, ObjectRValueRef, error_from_exception, opaque_object
from ._binding.tensor import from_dlpack, is_buffer
from ._binding.values import DataType, Device, ObjectConvertible, PyNativeObject
from ._dtype import dtype
from ._internal.lazy import Any
from ._types.third_party import is_instance_by_name
from .container import Array, Map

# Classes whose instances `convert` returns unchanged.
_UNCHANGED = (
    *(CObject, ObjectRValueRef, PyNativeObject, Device, DataType),
    *(int, float, str, bytes, type(None)),
)

# A reference to `sys.modules`, because the name `sys` may already be cleared at interpreter exit.
_modules = sys.modules

# Protocol attributes.  If a class has one of these attributes, the binding passes its instances as
# pointers, devices or numbers.
_PROTOCOLS = (
    "__cuda_stream__",
    "__tvm_ffi_opaque_ptr__",
    "__dlpack_device__",
    "__tvm_ffi_int__",
    "__tvm_ffi_float__",
)


def convert(value: Any) -> Any:
    """Convert a Python value to an FFI value.

    Parameters
    ----------
    value : object
        Any value.  Numbers, strings, bytes, None and FFI values are returned unchanged.  An array
        or buffer becomes a `Tensor` that shares its memory, a list or tuple an `Array`, a dict a
        `Map`, a callable a `Function`, an exception an `Error`, and a NumPy or torch dtype a
        `dtype`.

    Returns
    -------
    object
        The FFI value; an `OpaquePyObject` if no conversion exists.
    """
    if isinstance(value, _UNCHANGED):
        return value
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return Array(value)
    if isinstance(value, dict):
        return Map(value)
    return _convert_by_protocol(value)


def _convert_by_protocol(value: Any) -> Any:
    """Convert a value by the protocol methods of its class."""
    if _is_number(value):
        return value
    if hasattr(value, "__tvm_ffi_object__"):
        return value.__tvm_ffi_object__()
    if isinstance(value, ObjectConvertible):
        return value.asobject()
    if hasattr(value, "__dlpack__"):
        return from_dlpack(value)
    if hasattr(value, "__cuda_array_interface__"):
        return Array((value,))[0]
    if callable(value):
        return convert_func(value)
    if isinstance(value, Exception):
        return error_from_exception(value)
    if is_instance_by_name(value, ("torch", "numpy"), "dtype"):
        return dtype(value)
    if hasattr(value, "__dlpack_data_type__"):
        return dtype.from_dlpack_data_type(value.__dlpack_data_type__())
    if (
        is_instance_by_name(value, ("ctypes",), "c_void_p")
        or is_instance_by_name(value, ("numpy",), "bool", "bool_")
        or any(hasattr(value, protocol) for protocol in _PROTOCOLS)
    ):
        return value
    if is_buffer(value):
        return from_dlpack(value)
    return opaque_object(value)


def _is_number(value: Any) -> bool:
    """Return True if the value is an instance of `numbers.Number`."""
    # Do not import `numbers` here: a subclass of `Number` exists only if `numbers` is imported.
    number = getattr(_modules.get("numbers"), "Number", None)
    return number is not None and isinstance(value, number)
