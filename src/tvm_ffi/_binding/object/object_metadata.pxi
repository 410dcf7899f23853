# SPDX-License-Identifier: Apache-2.0
"""Notes about native objects, which every wrapper of the object finds.

A wrapper is made anew whenever an object arrives in Python, so what is known about the object, such
as the file that a module was loaded from, cannot be kept in one.  Notes are found by address.  A
weak native reference goes with each: the object may die, but its memory, and so the address, is not
used again until the note has been dropped.
"""

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.interpreter cimport load_count, store_count

cdef extern from * nogil:
    """
    #include <tvm/ffi/c_api.h>

    /* Steps 1 and 4 of the counting protocol, see TVMFFIObject. */
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

# NativeReference by address of the object.
cdef dict _notes = {}
# Notes of dead objects are dropped when there are this many in all.
cdef Py_ssize_t _next_purge = 64


cdef class NativeReference:
    """A weak reference to a native object, and a note about it.

    Parameters
    ----------
    obj : CObject
        The object; it may die.
    note : object
        Any value.
    """

    def __init__(self, CObject obj not None, note=None):
        self.refer_to(obj)
        self.note = note

    cdef int refer_to(self, CObject obj) except -1:
        if self.target != NULL:
            raise TypeError("a reference cannot be made to refer to another object")
        self.target = weak_target(obj)
        return 0

    cdef object own_note(self):
        return self.note

    def __dealloc__(self):
        drop_target(self.target)

    def __call__(self):
        """Return a wrapper of the object; None when it has died."""
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


cpdef NativeReference set_note(CObject obj, object note):
    """Let `note_of` return the note for every wrapper of this native object.

    A note that is there already stays: another thread may have been quicker.

    Returns
    -------
    NativeReference
        A weak reference to the object.
    """
    cdef NativeReference reference = NativeReference.__new__(NativeReference)
    reference.refer_to(obj)
    reference.note = note
    keep_note(reference)
    return reference


cdef NativeReference keep_note(NativeReference reference):
    if len(_notes) >= load_count(&_next_purge):
        purge()
        store_count(&_next_purge, 2 * len(_notes) + 64)
    return _notes.setdefault(<uintptr_t>reference.target, reference)


cpdef object note_of(CObject obj):
    """Return the note about the native object, or None."""
    cdef NativeReference reference
    if obj is None:
        raise TypeError("expected an object, got None")
    reference = _notes.get(<uintptr_t>obj.chandle)
    return None if reference is None else reference.own_note()


def notes() -> list:
    """Return the references to all objects with notes, some of which have died."""
    return list(_notes.values())


cpdef int purge() except -1:
    """Drop the notes of dead objects.  The copy is ours alone, so nobody changes it meanwhile."""
    cdef dict notes = _notes.copy()
    cdef Py_ssize_t position = 0
    cdef PyObject* address
    cdef PyObject* reference
    while PyDict_Next(notes, &position, &address, &reference):
        if not is_alive((<NativeReference>reference).target):
            _notes.pop(<object>address, None)
    return 0
