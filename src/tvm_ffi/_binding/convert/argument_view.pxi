# SPDX-License-Identifier: Apache-2.0
"""Argument views: the free list, the deleter, and views that outlive their call.

argument_view.pxd describes the life cycle of a view.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport PyErr_NoMemory
from tvm_ffi._binding.object cimport add_nonblocking_type, own_python_object, release_python_object

cdef ArgumentViewFreeList _free_views


cdef void _delete_view(void* self, int flags) noexcept nogil:
    cdef ArgumentView* arg_view = <ArgumentView*>self
    if flags & abi.kTVMFFIObjectDeleterFlagBitMaskStrong:
        free(arg_view.heap_extents)
        if arg_view.owner_is_owned:
            release_python_object(arg_view.owner)
    if flags & abi.kTVMFFIObjectDeleterFlagBitMaskWeak:
        free(arg_view)


cdef ArgumentViewFreeList* view_free_list() noexcept:
    return &_free_views


cdef ArgumentView* new_view() noexcept:
    cdef ArgumentView* arg_view = <ArgumentView*>malloc(sizeof(ArgumentView))
    if arg_view == NULL:
        PyErr_NoMemory()
        return NULL
    arg_view.header.combined_ref_count = abi.TVM_FFI_REF_COUNT_INITIAL
    arg_view.header.__padding = 0
    arg_view.header.deleter = _delete_view
    arg_view.owner_is_owned = False
    arg_view.exchange_api = NULL
    arg_view.heap_extents = NULL
    return arg_view


cdef int64_t* allocate_heap_extents(ArgumentView* arg_view, int ndim) noexcept:
    free(arg_view.heap_extents)
    arg_view.heap_extents = <int64_t*>malloc(2 * <size_t>ndim * sizeof(int64_t))
    if arg_view.heap_extents == NULL:
        PyErr_NoMemory()
    return arg_view.heap_extents


cdef void return_view_slow(ArgumentViewFreeList* free_list, ArgumentView* arg_view) noexcept:
    # Three cases: the callee keeps the view, the view has heap extents, or the free list is full.
    if not has_one_reference(&arg_view.header) and not arg_view.owner_is_owned:
        own_python_object(<object>arg_view.owner)
        arg_view.owner_is_owned = True
    abi.TVMFFIObjectDecRef(&arg_view.header)


cdef bint _is_argument_view(abi.TVMFFIObject* object) noexcept:
    return object.deleter == _delete_view


_free_views.deleter = _delete_view
add_nonblocking_type(abi.kTVMFFITensor, _is_argument_view)
