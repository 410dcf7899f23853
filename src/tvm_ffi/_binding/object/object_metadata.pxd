# SPDX-License-Identifier: Apache-2.0
# Object metadata and weak references to native objects; defined in object_metadata.pxi.
from tvm_ffi._binding cimport abi


cdef class NativeReference:
    cdef abi.TVMFFIObject* target  # owned weak reference; NULL before `refer_to` sets it
    cdef readonly object metadata

    # Set the wrapper's object as the target and take a weak reference to it.
    # Fails: ValueError if the wrapper is empty, TypeError if the target is set already.
    cdef int refer_to(self, CObject obj) except -1
    # Return the value that `get_object_metadata` returns for the target; subclasses override it.
    cdef object get_metadata(self)


# Register a reference, so that `get_object_metadata` finds its metadata.  Return the registered
# reference: an earlier one if the object already had metadata.
cdef NativeReference store_object_metadata(NativeReference reference)

# Return the wrapper's object with a new weak reference.  Fails: ValueError if the wrapper is empty.
cdef abi.TVMFFIObject* weak_target(CObject obj) except NULL
# Release a weak reference from `weak_target`, or do nothing for NULL.
cdef void drop_target(abi.TVMFFIObject* target) noexcept
# Return a new wrapper of a weakly referenced object; None if `target` is NULL or destroyed.
cdef object wrap_target(abi.TVMFFIObject* target)

# Python functions that other Cython modules call directly; documented in object_metadata.pxi.
cpdef NativeReference set_object_metadata(CObject obj, object metadata)
cpdef object get_object_metadata(CObject obj)
