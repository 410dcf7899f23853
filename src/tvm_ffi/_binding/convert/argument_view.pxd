# SPDX-License-Identifier: Apache-2.0
"""Argument views: native tensors and strings that borrow the memory of a Python object for a call.

1. Packing an argument takes a view from the free list.  The view borrows the Python object until
   the call returns.  For a tensor, the view contains a copy of shape and strides, because the
   callee may change the shape of the array in place.
2. If the callee took no reference to the view, the view goes back to the free list after the call.
   In this case nothing was allocated or copied, and no Python reference count was changed.
3. If the callee took a reference, the view takes a reference to the Python object before the call
   returns.  The last native reference frees the view, on any thread.

Threads: the free list is used only with the GIL held.  The design is in
docs/design/argument-views.md.
"""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from tvm_ffi._binding cimport abi

cdef enum:
    MAX_INLINE_NDIM = 8

cdef extern from *:
    """
    #include <tvm/ffi/c_api.h>

    /* Maximal length of the free list.  Free-threaded Python has none: synchronizing threads on the
     * list costs more than a small allocation. */
    #ifdef Py_GIL_DISABLED
    #define TVM_FFI_MAX_FREE_VIEWS 0
    #else
    #define TVM_FFI_MAX_FREE_VIEWS 64
    #endif

    /* Acquire order: uses of the view on other threads happen before its memory is reused. */
    static inline int tvm_ffi_has_one_reference(TVMFFIObject* arg_view) {
      uint64_t count = __atomic_load_n(&arg_view->combined_ref_count, __ATOMIC_ACQUIRE);
      return count == TVM_FFI_REF_COUNT_INITIAL;
    }
    """
    enum:
        MAX_FREE_VIEWS "TVM_FFI_MAX_FREE_VIEWS"
    # Return True if the only reference is the one of the call that packed the view.
    bint has_one_reference "tvm_ffi_has_one_reference"(abi.TVMFFIObject* arg_view) noexcept


ctypedef struct ArgumentView:
    abi.TVMFFIObject header
    # The native value after the header.  A string has its TVMFFIByteArray here, see bytes_of_view.
    abi.DLTensor tensor
    PyObject* owner       # the array, str or bytes; borrowed until the call returns, or owned
    bint owner_is_owned   # the view holds a reference to `owner`: the callee keeps the view
    bint is_read_only     # the memory of the tensor must not be written
    const abi.DLPackExchangeAPI* exchange_api  # used to read `owner`; NULL: another protocol
    int64_t* heap_extents  # owned; shape, then strides; NULL for up to MAX_INLINE_NDIM dimensions
    ArgumentView* next_free  # the next view of the free list; undefined while in use
    int64_t inline_extents[2 * MAX_INLINE_NDIM]  # shape, then strides


ctypedef struct ArgumentViewFreeList:
    ArgumentView* first  # the unused views, linked by next_free
    int size             # number of unused views, 0 to MAX_FREE_VIEWS
    void (*deleter)(void* self, int flags) noexcept  # identifies views among native objects


# Return the only free list.  It is never freed.
cdef ArgumentViewFreeList* view_free_list() noexcept
# Allocate a view; returns an owned view.  Fails: NULL with MemoryError set.
cdef ArgumentView* new_view() noexcept
# Same as `return_view`, but for views that do not go back to the free list.
cdef void return_view_slow(ArgumentViewFreeList* free_list, ArgumentView* arg_view) noexcept
# Allocate `ndim` extents and `ndim` strides; borrowed from the view.
# Fails: NULL with MemoryError set.
cdef int64_t* allocate_heap_extents(ArgumentView* arg_view, int ndim) noexcept


cdef inline ArgumentView* take_view(
    ArgumentViewFreeList* free_list, int type_index, PyObject* owner
) noexcept:
    """Return an owned view of `owner`; the caller fills `tensor` or the byte array.

    The owner is borrowed until the call returns.  Fails: NULL with MemoryError set.
    """
    cdef ArgumentView* arg_view = free_list.first
    if arg_view != NULL:
        free_list.first = arg_view.next_free
        free_list.size -= 1
    else:
        arg_view = new_view()
        if arg_view == NULL:
            return NULL
    arg_view.header.type_index = type_index
    arg_view.owner = owner
    return arg_view


cdef inline void return_view(ArgumentViewFreeList* free_list, ArgumentView* arg_view) noexcept:
    """Consume a view of `take_view` after the call, or after its packing failed."""
    if (
        has_one_reference(&arg_view.header)
        and arg_view.heap_extents == NULL
        and not arg_view.owner_is_owned
        and free_list.size < MAX_FREE_VIEWS
    ):
        arg_view.exchange_api = NULL
        arg_view.next_free = free_list.first
        free_list.first = arg_view
        free_list.size += 1
    else:
        return_view_slow(free_list, arg_view)


cdef inline int64_t* extents_of(ArgumentView* arg_view, int ndim) noexcept:
    """Return space for `ndim` extents, then `ndim` strides; borrowed from the view.

    Fails: NULL with MemoryError set.
    """
    if ndim <= MAX_INLINE_NDIM:
        return &arg_view.inline_extents[0]
    return allocate_heap_extents(arg_view, ndim)


cdef inline abi.TVMFFIByteArray* bytes_of_view(ArgumentView* arg_view) noexcept:
    """Return the byte array of a string view, at the offset of the DLTensor of a tensor view."""
    return <abi.TVMFFIByteArray*>&arg_view.tensor


cdef inline ArgumentView* as_argument_view(
    ArgumentViewFreeList* free_list, abi.TVMFFIObjectHandle handle
) noexcept:
    """Return the argument view of a handle, borrowed; NULL if the object is not a view."""
    if (<abi.TVMFFIObject*>handle).deleter == free_list.deleter:
        return <ArgumentView*>handle
    return NULL
