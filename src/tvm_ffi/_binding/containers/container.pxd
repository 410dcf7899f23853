# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t, int64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, begin_call, unpack_object
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL
from tvm_ffi._binding.object cimport CObject, Guard, begin_guard, end_guard, object_locks


cdef class CContainerBase(CObject):
    # Of the framework whose tensors came in with the container's elements; tensors that are read
    # from it come back as that framework's.
    cdef const abi.DLPackExchangeAPI* exchange_api


# Let the wrapper hold what `make` makes of the items, or of keys and values, in place of an
# earlier container.
cdef int hold_sequence(CContainerBase self, CObject make, object items) except -1
cdef int hold_mapping(CContainerBase self, CObject make, object mapping) except -1


cdef inline bint needs_guard(abi.TVMFFIObjectHandle handle) noexcept:
    """Whether another thread may be changing the container; Arrays and Maps are never changed."""
    cdef int32_t index = (<abi.TVMFFIObject*>handle).type_index
    return GIL_IS_OPTIONAL and index != abi.kTVMFFIArray and index != abi.kTVMFFIMap


cdef inline int64_t size_of(abi.TVMFFIObjectHandle handle) noexcept:
    """How many elements or pairs there are."""
    cdef Guard guard
    cdef int64_t size
    if not needs_guard(handle):
        return seq_cell(handle).size
    begin_guard(&guard, object_locks(), handle)
    size = seq_cell(handle).size  # at the same place in all containers
    end_guard(&guard)
    return size


cdef inline void take_element(const abi.TVMFFIAny* cell, abi.TVMFFIAny* owned) noexcept:
    owned[0] = cell[0]
    if owned.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectIncRef(owned.v_obj)


cdef inline object unpack_element(abi.TVMFFIAny* owned, CContainerBase owner):
    """An element that was taken, as a Python object."""
    cdef CallState state
    if owned.type_index == abi.kTVMFFIInt:
        return owned.v_int64
    if owner.exchange_api == NULL:
        return unpack_object(owned, NULL)
    begin_call(&state, NULL, 0)
    state.exchange_api = owner.exchange_api
    return unpack_object(owned, &state)


cdef inline void release_element(abi.TVMFFIAny* owned) noexcept:
    if owned.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectDecRef(owned.v_obj)
