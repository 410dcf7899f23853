# SPDX-License-Identifier: Apache-2.0
# Getters and setters of reflected fields; defined in field.pxi.
from libc.stdint cimport int32_t, int64_t

from tvm_ffi._binding cimport abi


# Location of a field: the type that declares the field, and the offset of the field in objects.
cdef class _Field:
    cdef readonly str name
    cdef int32_t owner_index        # type index of the type that declares the field
    cdef int32_t owner_depth        # number of ancestors of the type that declares the field
    cdef int64_t offset             # offset of the field from the object header, in bytes
    cdef int64_t size               # size of the field in bytes
    # Type index of the field's declared type; negative if the declared type is Any.
    cdef int32_t static_type_index

    # Return the native object of a wrapper, borrowed until Python code runs.
    # Fails: TypeError if the object does not have the field, ValueError if the wrapper is empty.
    cdef abi.TVMFFIObject* header_of(self, object obj) except NULL
    # Check that objects of the type `index` have the field.  Fails: TypeError if the field is
    # missing.
    cdef int _check_owner(self, int32_t index) except -1


cdef class FieldGetter(_Field):
    cdef abi.TVMFFIFieldGetter getter


cdef class FieldSetter(_Field):
    # Address of a C function, or handle of a Function; borrowed from the type table.
    cdef void* setter
    cdef bint is_function  # True if `setter` is a handle of a Function

    # Convert a Python value and write it to the field, even if the field is read-only.
    # Fails: the errors of `header_of`, and any error of the conversion.
    cdef int write(self, object obj, object value) except -1
    # Write a value, already converted to a TVMFFIAny, to the field.  Returns the error code for
    # `_fail`.
    cdef int _store(self, abi.TVMFFIObject* header, const abi.TVMFFIAny* view) noexcept
    # Raise the exception of a conversion with the names of the class and field.
    cdef int _refuse(self, object obj) except -1
    # Raise the error of `_store`.
    cdef int _fail(self, object obj, int code) except -1
    # Call a setter that is a Function.  Returns the error code for `check`.
    cdef int _call_setter(self, void* address, const abi.TVMFFIAny* value) noexcept
