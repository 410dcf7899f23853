# SPDX-License-Identifier: Apache-2.0
# Identity of wrappers: the live wrapper of a native object; see docs/design/wrappers.md.
#
# The table of wrappers has an entry for each wrapper that wraps a result.  The padding word in the
# header of a native object is the index of an entry, or garbage, so a lookup compares the handles.
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport Py_REFCNT, Py_TYPE, is_subtype
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL

ctypedef struct WrapperTable:
    # Borrowed wrappers; a free entry is 2 * (index of the next free entry) + 1.  Entry 0 is unused.
    PyObject** entries
    uint32_t size
    uint32_t first_free  # 0 if no entry is free


# Return the table.  The address never changes.
cdef WrapperTable* wrapper_table() noexcept
# Add free entries to the table.  Return False if memory is short.
cdef bint grow_wrapper_table() noexcept


cdef inline PyObject* live_wrapper(
    const WrapperTable* table, abi.TVMFFIObjectHandle handle
) noexcept:
    """Return the wrapper that represents a native object, borrowed; NULL if there is none.

    A wrapper whose destruction has begun does not count.  Without the GIL, another thread may
    destroy the wrapper at any time, so the result is NULL.
    """
    cdef uint32_t index = (<abi.TVMFFIObject*>handle).__padding
    cdef PyObject* wrapper
    if GIL_IS_OPTIONAL or index == 0 or index >= table.size:
        return NULL
    wrapper = table.entries[index]
    if <uintptr_t>wrapper & 1 or (<CObject>wrapper).chandle != handle or Py_REFCNT(wrapper) <= 0:
        return NULL
    return wrapper


cdef inline bint is_wrapper_of(PyObject* live, PyTypeObject* cls) noexcept:
    """Return True if the result of `live_wrapper` is an instance of the class; False for NULL.

    The wrapper may be older than the registration of its object's class.
    """
    return live != NULL and (Py_TYPE(live) == cls or is_subtype(Py_TYPE(live), cls))


cdef inline object reuse_wrapper(PyObject* live, abi.TVMFFIObjectHandle owned):
    """Return the result of `live_wrapper` again.  Consumes the handle."""
    cdef CObject wrapper = <CObject>live
    if wrapper.sharing == Sharing.UNSHARED:
        wrapper.sharing = Sharing.REUSED
    abi.TVMFFIObjectDecRef(owned)  # not the last reference, because the wrapper owns one
    return wrapper


cdef inline void represent_object(WrapperTable* table, CObject wrapper) noexcept:
    """Let a wrapper, which is not empty, represent its native object."""
    cdef uint32_t index = wrapper.table_index
    if GIL_IS_OPTIONAL:
        return
    if index == 0:
        if table.first_free == 0 and not grow_wrapper_table():
            return
        index = table.first_free
        table.first_free = <uint32_t>(<uintptr_t>table.entries[index] >> 1)
        table.entries[index] = <PyObject*>wrapper
        wrapper.table_index = index
    (<abi.TVMFFIObject*>wrapper.chandle).__padding = index


cdef inline void leave_table(WrapperTable* table, CObject wrapper) noexcept:
    """Free the entry of a wrapper that is being destroyed, before its fields are released."""
    cdef uint32_t index = wrapper.table_index
    if index != 0:
        table.entries[index] = <PyObject*>(2 * <uintptr_t>table.first_free + 1)
        table.first_free = index
        wrapper.table_index = 0
