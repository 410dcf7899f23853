# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi


cdef class CObject:
    cdef abi.TVMFFIObjectHandle chandle  # owned; NULL: none, or moved away
    cdef object __weakref__


cdef class ObjectRValueRef:
    cdef readonly CObject obj


cdef class OpaquePyObject(CObject):
    pass


# The Python object of an owned handle, which is taken over.
cdef object wrap_object(abi.TVMFFIObjectHandle owned)
# The type key of an index; for messages and names.
cdef str type_key_of(int index)
# The handle, or a ValueError that says the object is empty.
cdef abi.TVMFFIObjectHandle handle_of(CObject obj) except NULL
# An owned opaque object around a Python object.
cdef int new_opaque(object value, abi.TVMFFIObjectHandle* out) except -1
