# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t, int64_t

from tvm_ffi._binding cimport abi


# Where a field lies, and in objects of which type.
cdef class _Field:
    cdef readonly str name
    cdef int32_t owner_index
    cdef int32_t owner_depth
    cdef int64_t offset
    cdef int64_t size
    cdef int32_t static_type_index

    cdef abi.TVMFFIObject* header_of(self, object obj) except NULL
    # TypeError for objects of a type that has no such field.
    cdef int _check_owner(self, int32_t index) except -1


cdef class FieldGetter(_Field):
    cdef abi.TVMFFIFieldGetter getter


cdef class FieldSetter(_Field):
    cdef void* setter      # a C function, or a Function where the flag below says so; borrowed
    cdef bint is_function

    cdef int write(self, object obj, object value) except -1
    cdef int _store(self, abi.TVMFFIObject* header, const abi.TVMFFIAny* view) except -1
    cdef int _call_setter(self, void* address, const abi.TVMFFIAny* value) noexcept
