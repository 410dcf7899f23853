# SPDX-License-Identifier: Apache-2.0
"""Which wrapper represents a native object, and wrappers that several users share."""

from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uintptr_t
from libc.stdlib cimport realloc

from tvm_ffi._binding cimport abi

cdef enum:
    MAX_ENTRIES = 0x40000000

# See identity.pxd.  The memory is never freed, because wrappers may be destroyed until the process ends.
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
    obj.is_shared = True


cdef CObject _movable(CObject obj):
    """Return the wrapper to move from: `obj`, or a second wrapper if `obj` is shared."""
    cdef CObject second
    if not obj.is_shared or obj.chandle == NULL:
        return obj
    second = CObject.__new__(CObject)
    abi.TVMFFIObjectIncRef(obj.chandle)
    second.chandle = obj.chandle
    return second
