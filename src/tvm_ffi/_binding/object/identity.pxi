# SPDX-License-Identifier: Apache-2.0
"""Which wrapper represents a native object, and wrappers that several users share."""

from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uintptr_t
from libc.stdlib cimport realloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport Py_REFCNT

cdef extern from *:
    """
    /* References to a wrapper during `x._move()`: the variable `x`, the arguments of `_move` and of
     * the constructor, and before Python 3.14 the evaluation stack of the caller. */
    #if PY_VERSION_HEX >= 0x030E0000
    #define TVM_FFI_REFERENCES_OF_MOVE 3
    #else
    #define TVM_FFI_REFERENCES_OF_MOVE 4
    #endif
    """
    enum:
        REFERENCES_OF_MOVE "TVM_FFI_REFERENCES_OF_MOVE"

cdef enum:
    MAX_ENTRIES = 0x40000000

# See identity.pxd.  The memory is never freed, because wrappers may be destroyed until the process
# ends.
cdef WrapperTable _wrappers


cdef WrapperTable* wrapper_table() noexcept:
    return &_wrappers


cdef bint grow_wrapper_table() noexcept:
    cdef uint32_t size = 2 * _wrappers.size if _wrappers.size != 0 else 64
    cdef PyObject** entries
    cdef uint32_t i
    if size > MAX_ENTRIES:
        return False
    entries = <PyObject**>realloc(_wrappers.entries, size * sizeof(PyObject*))
    if entries == NULL:
        return False
    for i in range(max(_wrappers.size, 1), size):
        entries[i] = <PyObject*>(2 * <uintptr_t>(i + 1) + 1)
    entries[size - 1] = <PyObject*>1
    _wrappers.first_free = max(_wrappers.size, 1)
    _wrappers.entries, _wrappers.size = entries, size
    return True


# Wrappers that code of the whole process shares.  They are never removed.
cdef list _shared_wrappers = []


def share_wrapper(CObject obj not None) -> None:
    """Keep a wrapper until the process ends, and let no move empty it."""
    _shared_wrappers.append(obj)
    obj.sharing = Sharing.PROCESS_SHARED


cdef bint _has_one_user(CObject obj) noexcept:
    """Return True if only the caller of `ObjectRValueRef` uses the wrapper and its native object.

    Another owner of the native object may be the source of further results.
    """
    if obj.sharing == Sharing.REUSED:
        return has_one_owner(<abi.TVMFFIObject*>obj.chandle) and (
            Py_REFCNT(<PyObject*>obj) <= REFERENCES_OF_MOVE)
    return obj.sharing == Sharing.UNSHARED


cdef CObject _movable(CObject obj):
    """Return the wrapper to move from: `obj`, or a second wrapper if `obj` has other users."""
    cdef CObject second
    if obj.chandle == NULL or _has_one_user(obj):
        return obj
    second = CObject.__new__(CObject)
    abi.TVMFFIObjectIncRef(obj.chandle)
    second.chandle = obj.chandle
    return second
