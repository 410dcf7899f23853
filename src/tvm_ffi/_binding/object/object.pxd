# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi

cdef extern from *:
    """
    /* Locks for native objects that change in place, where Python has no GIL; with one, nothing.
     * Two wrappers may hold the same object, so its lock is found by its address; some objects
     * share one.  They are critical sections: Python gives them up while a thread waits, so that
     * locks need no order, and destructors may run code that comes back here. */
    #ifdef Py_GIL_DISABLED
    #define TVM_FFI_LOG2_LOCKS 6
    #define TVM_FFI_NUM_LOCKS (1 << TVM_FFI_LOG2_LOCKS)
    typedef PyCriticalSection tvm_ffi_guard;
    typedef PyCriticalSection2 tvm_ffi_pair_guard;

    static inline PyObject* tvm_ffi_lock_of(PyObject** locks, const void* object) {
      uint64_t hash = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15ULL;
      return locks[hash >> (64 - TVM_FFI_LOG2_LOCKS)];
    }
    #define tvm_ffi_begin_guard(guard, locks, object) \
      PyCriticalSection_Begin(guard, tvm_ffi_lock_of(locks, object))
    #define tvm_ffi_end_guard(guard) PyCriticalSection_End(guard)
    #define tvm_ffi_begin_pair_guard(guard, locks, a, b) \
      PyCriticalSection2_Begin(guard, tvm_ffi_lock_of(locks, a), tvm_ffi_lock_of(locks, b))
    #define tvm_ffi_end_pair_guard(guard) PyCriticalSection2_End(guard)
    #else
    #define TVM_FFI_NUM_LOCKS 0
    typedef char tvm_ffi_guard;
    typedef char tvm_ffi_pair_guard;
    #define tvm_ffi_begin_guard(guard, locks, object) ((void)(guard))
    #define tvm_ffi_end_guard(guard) ((void)(guard))
    #define tvm_ffi_begin_pair_guard(guard, locks, a, b) ((void)(guard))
    #define tvm_ffi_end_pair_guard(guard) ((void)(guard))
    #endif
    """
    enum:
        NUM_LOCKS "TVM_FFI_NUM_LOCKS"
    ctypedef struct Guard "tvm_ffi_guard":
        pass
    ctypedef struct PairGuard "tvm_ffi_pair_guard":
        pass
    # Keep other threads from a native object, or from two; ended by the same thread, last first.
    void begin_guard "tvm_ffi_begin_guard"(
        Guard* guard, PyObject** locks, const void* object) noexcept
    void end_guard "tvm_ffi_end_guard"(Guard* guard) noexcept
    void begin_pair_guard "tvm_ffi_begin_pair_guard"(
        PairGuard* guard, PyObject** locks, const void* first, const void* second) noexcept
    void end_pair_guard "tvm_ffi_end_pair_guard"(PairGuard* guard) noexcept

cdef extern from * nogil:
    """
    #include <tvm/ffi/c_api.h>

    static inline int tvm_ffi_has_one_owner(TVMFFIObject* object) {
      uint64_t count = __atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE);
      return (count & TVM_FFI_REF_COUNT_STRONG_MASK) == TVM_FFI_REF_COUNT_STRONG_ONE;
    }
    """
    bint has_one_owner "tvm_ffi_has_one_owner"(abi.TVMFFIObject* object) noexcept


cdef class CObject:
    cdef abi.TVMFFIObjectHandle chandle  # owned; NULL: none, or moved away
    cdef object __weakref__


# Seen by the garbage collector, as its fields may hold Python values.
cdef class LinkedObject(CObject):
    cdef object link  # `_HeldValues` of types/reference_link; NULL until there are such values


# One reference to a native object.  Other than a wrapper, it cannot be emptied.
cdef class HandleOwner:
    cdef abi.TVMFFIObjectHandle handle  # NULL: of a wrapper that was empty


cdef class ObjectRValueRef:
    cdef readonly CObject obj


cdef class OpaquePyObject(CObject):
    cdef object seen  # None; the collector asks objects of classes with such a field alone


# What guards are taken from; the same for all modules and for the life of the process.
cdef PyObject** object_locks() noexcept
# The Python object of an owned handle, which is taken over.
cdef object wrap_object(abi.TVMFFIObjectHandle owned)
# The type key of an index; for messages and names.
cdef str type_key_of(int index)
# The handle, or a ValueError that says the object is empty.  Borrowed until Python code runs, which
# may empty the wrapper; see docs/design/wrappers.md.
cdef abi.TVMFFIObjectHandle handle_of(CObject obj) except NULL
# Lets a new owner have a reference of its own.
cdef inline void share_handle(HandleOwner owner, abi.TVMFFIObjectHandle borrowed) noexcept:
    abi.TVMFFIObjectIncRef(borrowed)
    owner.handle = borrowed
# To be called before a wrapper gives up its handle: what calls have borrowed stays alive.
cdef void keep_for_borrowers(CObject wrapper) noexcept
# Lets the wrapper hold an owned handle, or NULL, in place of what it held; any code may run at the
# end.  TypeError, and the handle is released, for an object that methods of the wrapper's class
# would take for one of another type.
cdef int hold(CObject wrapper, abi.TVMFFIObjectHandle owned) except -1
# The same with what another wrapper holds, which is empty afterwards; on failure it is unchanged.
cdef int move_reference(CObject wrapper, CObject source) except -1
# Empties a wrapper that the collector has found to be garbage.
cdef void empty_garbage(CObject wrapper) noexcept
# An owned opaque object around a Python object.
cdef int new_opaque(object value, abi.TVMFFIObjectHandle* out) except -1
