# SPDX-License-Identifier: Apache-2.0
# Getters and setters of reflected fields; defined in field.pxi.
from libc.stdint cimport int32_t, int64_t

from tvm_ffi._binding cimport abi


# Location of a field: the type that declares it, and the offset in its objects.
cdef class _Field:
    cdef readonly str name
    cdef int32_t owner_index        # type that declares the field
    cdef int32_t owner_depth        # number of ancestors of that type
    cdef int64_t offset             # offset in bytes from the object's header
    cdef int64_t size               # size of the field in bytes
    cdef int32_t static_type_index  # type index of the declared type; negative if it is Any

    # Return the native object of a wrapper, borrowed until Python code runs.
    # Fails: TypeError if the object does not have the field, ValueError if the wrapper is empty.
    cdef abi.TVMFFIObject* header_of(self, object obj) except NULL
    # Check that objects of the type `index` have the field.  Fails: TypeError if they do not.
    cdef int _check_owner(self, int32_t index) except -1


cdef class FieldGetter(_Field):
    cdef abi.TVMFFIFieldGetter getter


cdef class FieldSetter(_Field):
    cdef void* setter      # C function, or handle of a Function; borrowed from the type table
    cdef bint is_function  # True if `setter` is a handle of a Function

    # Convert a Python value and write it to the field, even if the field is read-only.
    # Fails: the errors of `header_of`, and any error of the conversion.
    cdef int write(self, object obj, object value) except -1
    # Write a value that is already converted to a TVMFFIAny.
    cdef int _store(self, abi.TVMFFIObject* header, const abi.TVMFFIAny* view) except -1
    # Call a setter that is a Function.  Returns the code that `check` takes.
    cdef int _call_setter(self, void* address, const abi.TVMFFIAny* value) noexcept
