# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi


cdef class NativeReference:
    cdef abi.TVMFFIObject* target  # one weak count is ours; NULL: refers to nothing
    cdef readonly object note

    # Makes a new reference refer to the object.
    cdef int refer_to(self, CObject obj) except -1
    # What `note_of` returns.
    cdef object own_note(self)


# Lets `note_of` find the note of a reference, or of the one that was there first; returns that.
cdef NativeReference keep_note(NativeReference reference)

# Parts of references: a weak count of the object, owned; its end; a wrapper, or None.
cdef abi.TVMFFIObject* weak_target(CObject obj) except NULL
cdef void drop_target(abi.TVMFFIObject* target) noexcept
cdef object wrap_target(abi.TVMFFIObject* target)

# See the Python functions of these names.
cpdef NativeReference set_note(CObject obj, object note)
cpdef object note_of(CObject obj)
