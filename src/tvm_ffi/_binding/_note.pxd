# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._object cimport CObject


cdef class NativeReference:
    cdef _abi.TVMFFIObject* target  # one weak count is ours; NULL: refers to nothing
    cdef readonly object note

    # Makes a new reference refer to the object.
    cdef int refer_to(self, CObject obj) except -1


# See the Python functions of these names.
cpdef NativeReference set_note(CObject obj, object note)
cpdef object note_of(CObject obj)
