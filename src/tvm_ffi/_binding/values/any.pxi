# SPDX-License-Identifier: Apache-2.0
"""`CAny`: a native value that Python code owns without conversion to a Python value."""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport pack_owned, unpack_object
from tvm_ffi._binding.object cimport check, release_object


cdef class CAny:
    """A native value that Python code owns without converting it to a Python value.

    Parameters
    ----------
    value : object
        The Python value to convert, in the same way as an argument of a call.  Default None.
    """

    def __cinit__(self):
        _set_none(&self.value)

    def __init__(self, value=None):
        cdef abi.TVMFFIAny packed, previous
        if pack_owned(<PyObject*>value, &packed) != 0:
            check(-2)
        previous, self.value = self.value, packed
        # Released last, because a destructor may run Python code that uses `self`.
        _release(&previous)

    def __dealloc__(self):
        _release(&self.value)

    @property
    def type_index(self) -> int:
        """Type index of the native value."""
        return self.value.type_index

    def __repr__(self):
        cdef int index = self.value.type_index
        if index == abi.kTVMFFINone:
            return "CAny(None)"
        if index in (abi.kTVMFFIInt, abi.kTVMFFIBool, abi.kTVMFFIFloat):
            value = to_py_class_value(self)
            return f"CAny({type(value).__name__}={value})"
        if index >= abi.kTVMFFIStaticObjectBegin:
            return f"CAny(object, type_index={index})"
        return f"CAny(type_index={index})"


cdef void _set_none(abi.TVMFFIAny* value) noexcept:
    value.type_index = abi.kTVMFFINone
    value.zero_padding = 0
    value.v_int64 = 0


cdef void _release(abi.TVMFFIAny* value) noexcept:
    """Set `value` to None and release its reference."""
    cdef abi.TVMFFIAny released = value[0]
    _set_none(value)  # reset first, because a destructor may run Python code that reads `value`
    if released.type_index >= abi.kTVMFFIStaticObjectBegin:
        release_object(released.v_obj)


def to_py_class_value(CAny value not None):
    """Convert a native value to a Python value, in the same way as the result of a call."""
    cdef abi.TVMFFIAny owned = value.value
    if owned.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectIncRef(owned.v_obj)
    return unpack_object(&owned, NULL)


cdef void empty_any(CAny value) noexcept:
    _release(&value.value)
