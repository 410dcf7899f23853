# SPDX-License-Identifier: Apache-2.0
"""Explicit conversion of Python values to their FFI form."""

from __future__ import annotations

import sys

from ._binding.call import convert_func
from ._binding.object import CObject, ObjectRValueRef, error_from_exception, opaque_object
from ._binding.tensor import from_dlpack
from ._binding.values import DataType, Device, ObjectConvertible, PyNativeObject
from ._dtype import dtype
from ._internal.lazy import Any
from ._types.third_party import is_instance_by_name
from .container import Array, Map

# Values that are in FFI form already, or that have no other.
_UNCHANGED = (
    *(CObject, ObjectRValueRef, PyNativeObject, Device, DataType),
    *(int, float, str, bytes, type(None)),
)

_modules = sys.modules  # which this module may need when the names of others are gone

# Class attributes that say how a value is passed.
_PROTOCOLS = (
    "__cuda_stream__",
    "__tvm_ffi_opaque_ptr__",
    "__dlpack_device__",
    "__tvm_ffi_int__",
    "__tvm_ffi_float__",
)


def convert(value: Any) -> Any:
    """Return the FFI form of a Python value.

    Parameters
    ----------
    value : object
        Numbers, text, and values in FFI form already are returned as they are; arrays become
        tensors over the same memory, lists and tuples `Array`, dicts `Map`, callables functions,
        exceptions errors, dtypes `dtype`.

    Returns
    -------
    object
        The FFI form; an `OpaquePyObject` for a value that has no other.
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
    """Return the FFI form of a value whose class says in its own way what it is."""
    if _is_number(value):
        return value
    if hasattr(value, "__tvm_ffi_object__"):
        return value.__tvm_ffi_object__()
    if isinstance(value, ObjectConvertible):
        return value.asobject()
    if hasattr(value, "__dlpack__"):
        return from_dlpack(value)
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
    return opaque_object(value)


def _is_number(value: Any) -> bool:
    """Whether the value is of a class that is, or has been declared, one of numbers."""
    # Who makes such a class has loaded it, and to its end.
    number = getattr(_modules.get("numbers"), "Number", None)
    return number is not None and isinstance(value, number)
