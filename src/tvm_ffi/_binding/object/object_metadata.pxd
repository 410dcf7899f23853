# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi


cdef class NativeReference:
    cdef abi.TVMFFIObject* target  # owns one weak reference; NULL before `refer_to`
    cdef readonly object metadata

    # Set the target, once, and take a weak reference to it.
    # Fails: ValueError if the wrapper is empty, TypeError if the target is set already.
    cdef int refer_to(self, CObject obj) except -1
    # Return the value that `get_object_metadata` returns for the target; subclasses override it.
    cdef object get_metadata(self)


# Register a reference, so that `get_object_metadata` finds its metadata.  Return the registered
# reference: an earlier one if the object already had metadata.
cdef NativeReference store_object_metadata(NativeReference reference)

# Return the object with a new weak reference.  Fails: ValueError if the wrapper is empty.
cdef abi.TVMFFIObject* weak_target(CObject obj) except NULL
# Consumes a weak reference, which may be NULL.
cdef void drop_target(abi.TVMFFIObject* target) noexcept
# Return a wrapper of the object; None for NULL and for an object that has been destroyed.
cdef object wrap_target(abi.TVMFFIObject* target)

# See the Python functions of these names.
cpdef NativeReference set_object_metadata(CObject obj, object metadata)
cpdef object get_object_metadata(CObject obj)
