# SPDX-License-Identifier: Apache-2.0
# Base class of containers, their construction, and access to their elements.
from libc.stdint cimport int32_t, int64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, begin_call, unpack_object
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL
from tvm_ffi._binding.object cimport CObject, Guard, begin_guard, end_guard, object_locks


cdef class CContainerBase(CObject):
    # Exchange API of the framework whose tensors the container was built from; NULL if the
    # container was built without such tensors.  Tensors that are read from the container become
    # tensors of this framework.
    cdef const abi.DLPackExchangeAPI* exchange_api


# Replace the native container of the wrapper `self` by a new container.  The runtime function
# `constructor` creates the new container from the items of a sequence, or from the alternating keys
# and values of a mapping.
# Fails: any error of a conversion; the wrapper is then unchanged.
cdef int fill_from_sequence(CContainerBase self, CObject constructor, object items) except -1
cdef int fill_from_mapping(CContainerBase self, CObject constructor, object mapping) except -1


cdef inline bint needs_guard(abi.TVMFFIObjectHandle handle) noexcept:
    """Return True if reading the container needs a guard (a lock on the container).

    In free-threaded Python, a List or Dict needs a guard, because another thread may change it.
    """
    cdef int32_t index = (<abi.TVMFFIObject*>handle).type_index
    return GIL_IS_OPTIONAL and index != abi.kTVMFFIArray and index != abi.kTVMFFIMap


cdef inline int64_t size_of(abi.TVMFFIObjectHandle handle) noexcept:
    """Return the number of elements of a sequence, or the number of pairs of a mapping."""
    cdef Guard guard
    cdef int64_t size
    if not needs_guard(handle):
        return seq_cell(handle).size
    begin_guard(&guard, object_locks(), handle)
    size = seq_cell(handle).size  # `size` has the same offset in all containers
    end_guard(&guard)
    return size


cdef inline void take_element(const abi.TVMFFIAny* cell, abi.TVMFFIAny* owned) noexcept:
    """Copy the element `cell` of a container to `owned`.  `owned` gets a new reference."""
    owned[0] = cell[0]
    if owned.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectIncRef(owned.v_obj)


cdef inline object unpack_element(abi.TVMFFIAny* owned, CContainerBase owner):
    """Convert an element from `take_element` to a Python value.  Consumes the element."""
    cdef CallState state
    if owned.type_index == abi.kTVMFFIInt:
        return owned.v_int64
    if owner.exchange_api == NULL:
        return unpack_object(owned, NULL)
    begin_call(&state, NULL, 0)
    state.exchange_api = owner.exchange_api
    return unpack_object(owned, &state)


cdef inline void release_element(abi.TVMFFIAny* owned) noexcept:
    """Release the reference of an element that `take_element` has copied."""
    if owned.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectDecRef(owned.v_obj)
