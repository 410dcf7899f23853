# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, freethreading_compatible=True
"""Argument tensors that cost no allocation.

1. Packing takes a tensor from the free list.  It borrows the array, and possibly the array's own
   shape and strides, for the duration of the call.
2. When the call is over and nobody else holds the tensor, it goes back to the list.
3. When the callee has kept a reference, the tensor first becomes independent: it takes a
   reference to the array and a copy of shape and strides.  Its last reference then frees it.
"""

from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._convert cimport add_recycler
from tvm_ffi._binding._interpreter cimport release_python_object

cdef extern from "Python.h":
    PyObject* PyErr_NoMemory() noexcept

cdef int _MAX_FREE = 64
cdef CallTensor* _free_list = NULL
cdef int _num_free = 0


cdef void _delete_call_tensor(void* self, int flags) noexcept nogil:
    cdef CallTensor* tensor = <CallTensor*>self
    if flags & _abi.kTVMFFIObjectDeleterFlagBitMaskStrong:
        free(tensor.heap_extents)
        if tensor.owns_owner:
            release_python_object(tensor.owner)
    if flags & _abi.kTVMFFIObjectDeleterFlagBitMaskWeak:
        free(tensor)


cdef CallTensor* take_call_tensor(PyObject* owner) noexcept:
    global _free_list, _num_free
    cdef CallTensor* tensor = _free_list
    if tensor != NULL:
        _free_list = tensor.next_free
        _num_free -= 1
    else:
        tensor = <CallTensor*>malloc(sizeof(CallTensor))
        if tensor == NULL:
            PyErr_NoMemory()
            return NULL
        tensor.header.combined_ref_count = _abi.TVM_FFI_REF_COUNT_INITIAL
        tensor.header.type_index = _abi.kTVMFFITensor
        tensor.header.__padding = 0
        tensor.header.deleter = _delete_call_tensor
        tensor.heap_extents = NULL
    tensor.owner = owner
    tensor.owns_owner = False
    tensor.is_read_only = False
    tensor.exchange_api = NULL
    return tensor


cdef int64_t* extents_of(CallTensor* tensor, int ndim) noexcept:
    if ndim <= MAX_INLINE_NDIM:
        return tensor.inline_extents
    free(tensor.heap_extents)
    tensor.heap_extents = <int64_t*>malloc(2 * <size_t>ndim * sizeof(int64_t))
    if tensor.heap_extents == NULL:
        PyErr_NoMemory()
    return tensor.heap_extents


cdef int _own_extents(CallTensor* tensor) noexcept:
    """Replace borrowed shape and strides by copies; -1 when memory runs out."""
    cdef int ndim = tensor.tensor.ndim
    cdef size_t size_bytes = <size_t>ndim * sizeof(int64_t)
    cdef int64_t* extents
    if ndim == 0 or tensor.tensor.shape == tensor.inline_extents \
            or tensor.tensor.shape == tensor.heap_extents:
        return 0
    extents = extents_of(tensor, ndim)
    if extents == NULL:
        return -1
    memcpy(extents, tensor.tensor.shape, size_bytes)
    if tensor.tensor.strides != extents + ndim:  # computed strides are in place already
        memcpy(extents + ndim, tensor.tensor.strides, size_bytes)
    # The old arrays stay valid, the tensor owns the array now: a reader on another thread that
    # has just fetched the old address still sees the same numbers.
    tensor.tensor.shape = extents
    tensor.tensor.strides = extents + ndim
    return 0


cdef void recycle_call_tensor(_abi.TVMFFIObject* temporary) noexcept:
    global _free_list, _num_free
    cdef CallTensor* tensor = <CallTensor*>temporary
    if temporary.combined_ref_count != _abi.TVM_FFI_REF_COUNT_INITIAL:
        if not tensor.owns_owner:
            Py_INCREF(<object>tensor.owner)
            tensor.owns_owner = True
            _own_extents(tensor)
        _abi.TVMFFIObjectDecRef(temporary)
        return
    if tensor.heap_extents != NULL:
        free(tensor.heap_extents)
        tensor.heap_extents = NULL
    if _num_free < _MAX_FREE:
        tensor.next_free = _free_list
        _free_list = tensor
        _num_free += 1
    else:
        free(tensor)


cdef CallTensor* as_call_tensor(_abi.TVMFFIObjectHandle handle) noexcept:
    if (<_abi.TVMFFIObject*>handle).deleter == _delete_call_tensor:
        return <CallTensor*>handle
    return NULL


add_recycler(_delete_call_tensor, recycle_call_tensor)
