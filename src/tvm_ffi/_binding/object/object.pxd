# SPDX-License-Identifier: Apache-2.0
# Wrappers of native objects, object locks (guards), and changes of a wrapper's handle.
from cpython.ref cimport PyObject
from libc.stdint cimport uint8_t, uint32_t

from tvm_ffi._binding cimport abi

cdef extern from *:
    """
    /* Guards: locks for native objects that change in place.  With a GIL they do nothing.
     * Several wrappers may hold one object, so the object's address selects the lock; different
     * objects may share a lock.  A lock is a critical section of CPython, which is suspended while
     * its thread waits.  So locks need no order, and a destructor that runs under a guard may begin
     * a guard of the same object. */
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
    # Lock one native object, or two.  The thread that begins guards must end them in reverse order.
    # Fails: never.
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


# Users of a wrapper.  A move takes a second reference to the object of a shared wrapper, because
# emptying the wrapper would empty it for all its users.
cdef enum Sharing:
    UNSHARED
    REUSED          # more than one result has returned the wrapper
    PROCESS_SHARED  # code of the whole process uses the wrapper


cdef class CObject:
    # Owned reference to the native object; NULL if the wrapper is empty.
    cdef abi.TVMFFIObjectHandle chandle
    # Index of the wrapper in the table of wrappers; 0 if it is not there.  See identity.pxd.
    cdef uint32_t table_index
    # A `Sharing`: whether other code may use the wrapper, too.
    cdef uint8_t sharing
    cdef object __weakref__


# A wrapper that supports garbage collection, because fields of its object may hold Python values.
cdef class LinkedObject(CObject):
    cdef object link  # _ReferenceLink of types/reference_link.pxi; NULL if no field needs a link


# Owner of one reference to a native object.  Unlike a wrapper, a HandleOwner cannot be emptied.
cdef class HandleOwner:
    cdef abi.TVMFFIObjectHandle handle  # owned reference; NULL in a new HandleOwner


cdef class ObjectRValueRef:
    cdef readonly CObject obj


cdef class OpaquePyObject(CObject):
    cdef object gc_marker  # always None; gives the class GC support, which needs an object field


# Return the array of locks from which `begin_guard` selects.  Borrowed until the process ends.
cdef PyObject** object_locks() noexcept
# Return a wrapper of the class that is registered for the object's type, or the Python value to
# which this class converts the object.  The result is the wrapper that represents the object if
# there is one and it is an instance of this class.
# Consumes the handle, also on failure.
cdef object wrap_object(abi.TVMFFIObjectHandle owned)
# Same as `wrap_object`, but always return a new wrapper.  It represents the object if no other
# wrapper does.
cdef object wrap_again(abi.TVMFFIObjectHandle owned)
# Return the type key of a registered type index.
cdef str type_key_of(int index)
# Return the handle of a wrapper.  Borrowed until Python code runs, which may empty the wrapper; see
# docs/design/wrappers.md.  Fails: ValueError if the wrapper is empty, TypeError for None.
cdef abi.TVMFFIObjectHandle handle_of(CObject obj) except NULL
# Set the handle of a new HandleOwner and take a reference to the object.
cdef inline void share_handle(HandleOwner owner, abi.TVMFFIObjectHandle borrowed) noexcept:
    abi.TVMFFIObjectIncRef(borrowed)
    owner.handle = borrowed
# Keep the wrapper's object alive while calls borrow it.  Call this before changing the handle; it
# may run Python code.
cdef void keep_for_borrowers(CObject wrapper) noexcept
# Replace the wrapper's handle by an owned handle, or NULL, and release the previous object, whose
# destructor may run any code.  Consumes the handle, also on failure.
# Fails: TypeError if methods of the wrapper's class cannot read the object's type.
cdef int replace_handle(CObject wrapper, abi.TVMFFIObjectHandle owned) except -1
# Move the handle of `source` into `wrapper`; `source` is empty afterwards unless it is shared.
# Fails: the TypeError of `replace_handle`; both wrappers are then unchanged.
cdef int move_reference(CObject wrapper, CObject source) except -1
# Release the handle of a wrapper that the garbage collector clears.
cdef void empty_garbage(CObject wrapper) noexcept
# Set `out` to a new opaque object that owns a reference to the Python object.
# Fails: MemoryError.
cdef int new_opaque(object value, abi.TVMFFIObjectHandle* out) except -1
