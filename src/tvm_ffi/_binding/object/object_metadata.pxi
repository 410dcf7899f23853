# SPDX-License-Identifier: Apache-2.0
"""Object metadata: Python values about native objects, shared by all wrappers of an object.

Each time a native object arrives in Python it gets a new wrapper, so a wrapper cannot store facts
about the object, such as the file that a module was loaded from.  This module stores them in a dict
by the object's address.  Each entry owns a weak native reference: the object may be destroyed, but
its memory is not freed, and so its address is not reused, before the entry is removed.
"""

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.interpreter cimport load_count, store_count

cdef extern from * nogil:
    """
    #include <tvm/ffi/c_api.h>

    /* Steps 1 and 4 of the reference counting protocol, see TVMFFIObject in c_api.h. */
    static void tvm_ffi_add_weak(TVMFFIObject* object) {
      __atomic_fetch_add(&object->combined_ref_count, TVM_FFI_REF_COUNT_WEAK_ONE, __ATOMIC_RELAXED);
    }

    static int tvm_ffi_is_alive(TVMFFIObject* object) {
      uint64_t count = __atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED);
      return (count & TVM_FFI_REF_COUNT_STRONG_MASK) != 0;
    }

    static int tvm_ffi_make_strong(TVMFFIObject* object) {
      uint64_t count = __atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED);
      while ((count & TVM_FFI_REF_COUNT_STRONG_MASK) != 0) {
        if (__atomic_compare_exchange_n(
                &object->combined_ref_count, &count, count + TVM_FFI_REF_COUNT_STRONG_ONE, 0,
                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
          return 1;
        }
      }
      return 0;
    }
    """
    void add_weak "tvm_ffi_add_weak"(abi.TVMFFIObject* obj) noexcept
    bint is_alive "tvm_ffi_is_alive"(abi.TVMFFIObject* obj) noexcept
    bint make_strong "tvm_ffi_make_strong"(abi.TVMFFIObject* obj) noexcept

# The NativeReference of each object with metadata, by the object's address.
cdef dict _references = {}
# Size of `_references` at which `store_object_metadata` next removes entries of destroyed objects.
cdef Py_ssize_t _next_purge = 64


cdef class NativeReference:
    """A weak reference to a native object, with metadata about it.

    Parameters
    ----------
    obj : CObject
        Wrapper of the object.
    metadata : object
        Any Python value.
    """

    def __init__(self, CObject obj not None, metadata=None):
        self.refer_to(obj)
        self.metadata = metadata

    cdef int refer_to(self, CObject obj) except -1:
        if self.target != NULL:
            raise TypeError(
                "NativeReference.__init__: the NativeReference already refers to a native object")
        self.target = weak_target(obj)
        return 0

    cdef object get_metadata(self):
        return self.metadata

    def __dealloc__(self):
        drop_target(self.target)

    def __call__(self):
        """Return a wrapper of the object, or None if the object has been destroyed."""
        return wrap_target(self.target)


cdef abi.TVMFFIObject* weak_target(CObject obj) except NULL:
    cdef abi.TVMFFIObject* target = <abi.TVMFFIObject*>handle_of(obj)
    add_weak(target)
    return target


cdef void drop_target(abi.TVMFFIObject* target) noexcept:
    if target != NULL:
        drop_weak(target)


cdef object wrap_target(abi.TVMFFIObject* target):
    if target == NULL or not make_strong(target):
        return None
    return wrap_object(target)


cpdef NativeReference set_object_metadata(CObject obj, object metadata):
    """Set the metadata that `get_object_metadata` returns for every wrapper of this object.

    Existing metadata is not replaced; another thread may have set it first.

    Returns
    -------
    NativeReference
        A weak reference to the object.
    """
    cdef NativeReference reference = NativeReference.__new__(NativeReference)
    reference.refer_to(obj)
    reference.metadata = metadata
    store_object_metadata(reference)
    return reference


cdef NativeReference store_object_metadata(NativeReference reference):
    if len(_references) >= load_count(&_next_purge):
        purge_object_metadata()
        store_count(&_next_purge, 2 * len(_references) + 64)
    return _references.setdefault(<uintptr_t>reference.target, reference)


cpdef object get_object_metadata(CObject obj):
    """Return the metadata of the native object, or None."""
    cdef NativeReference reference
    if obj is None:
        raise TypeError("get_object_metadata: expected a CObject, got None")
    reference = _references.get(<uintptr_t>obj.chandle)
    return None if reference is None else reference.get_metadata()


def references_with_metadata() -> list:
    """Return the references to all objects with metadata, including destroyed objects."""
    return list(_references.values())


cpdef int purge_object_metadata() except -1:
    """Remove the metadata of destroyed objects."""
    # Iterate over a copy of the dict, which other threads cannot change.
    cdef dict snapshot = _references.copy()
    cdef Py_ssize_t position = 0
    cdef PyObject* address
    cdef PyObject* reference
    while PyDict_Next(snapshot, &position, &address, &reference):
        if not is_alive((<NativeReference>reference).target):
            _references.pop(<object>address, None)
    return 0
