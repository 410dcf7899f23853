# SPDX-License-Identifier: Apache-2.0
"""The free list of argument views, and views that outlive their call; see argument_view.pxd."""

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
        if arg_view.owns_owner:
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
    arg_view.owns_owner = False
    arg_view.is_read_only = False
    arg_view.exchange_api = NULL
    arg_view.heap_extents = NULL
    return arg_view


cdef int64_t* heap_extents_of(ArgumentView* arg_view, int ndim) noexcept:
    free(arg_view.heap_extents)
    arg_view.heap_extents = <int64_t*>malloc(2 * <size_t>ndim * sizeof(int64_t))
    if arg_view.heap_extents == NULL:
        PyErr_NoMemory()
    return arg_view.heap_extents


cdef void finish_view(ArgumentViewFreeList* free_list, ArgumentView* arg_view) noexcept:
    """The uncommon ends of a loan: kept by the callee, many dimensions, full pool."""
    if not is_returned(&arg_view.header) and not arg_view.owns_owner:
        own_python_object(<object>arg_view.owner)
        arg_view.owns_owner = True
    abi.TVMFFIObjectDecRef(&arg_view.header)


cdef bint _is_argument_view(abi.TVMFFIObject* object) noexcept:
    return object.deleter == _delete_view


_free_views.deleter = _delete_view
add_nonblocking_type(abi.kTVMFFITensor, _is_argument_view)
