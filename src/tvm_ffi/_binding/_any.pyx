# SPDX-License-Identifier: Apache-2.0
"""A native value that Python holds as it is, without making a Python object of it."""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._convert cimport make_object, pack_owned
from tvm_ffi._binding._error cimport check


cdef class CAny:
    """An owned native value.

    Parameters
    ----------
    value : object
        Converted as the argument of a call is.
    """

    cdef _abi.TVMFFIAny value

    def __cinit__(self):
        _set_none(&self.value)

    def __init__(self, value=None):
        cdef _abi.TVMFFIAny packed
        if pack_owned(<PyObject*>value, &packed) != 0:
            check(-2)
        _release(&self.value)
        self.value = packed

    def __dealloc__(self):
        _release(&self.value)

    @property
    def type_index(self) -> int:
        """Index of the value's type."""
        return self.value.type_index

    def __repr__(self):
        cdef int index = self.value.type_index
        if index == _abi.kTVMFFINone:
            return "CAny(None)"
        if index in (_abi.kTVMFFIInt, _abi.kTVMFFIBool, _abi.kTVMFFIFloat):
            value = to_py_class_value(self)
            return f"CAny({type(value).__name__}={value})"
        if index >= _abi.kTVMFFIStaticObjectBegin:
            return f"CAny(object, type_index={index})"
        return f"CAny(type_index={index})"


cdef void _set_none(_abi.TVMFFIAny* value) noexcept:
    value.type_index = _abi.kTVMFFINone
    value.zero_padding = 0
    value.v_int64 = 0


cdef void _release(_abi.TVMFFIAny* value) noexcept:
    cdef _abi.TVMFFIAny released = value[0]
    _set_none(value)  # first: what dies may run Python code that sees the value
    if released.type_index >= _abi.kTVMFFIStaticObjectBegin:
        _abi.TVMFFIObjectDecRef(released.v_obj)


def to_py_class_value(CAny value not None):
    """Return the Python object of a value."""
    cdef _abi.TVMFFIAny owned = value.value
    if owned.type_index >= _abi.kTVMFFIStaticObjectBegin:
        _abi.TVMFFIObjectIncRef(owned.v_obj)
    return make_object(&owned, NULL)
