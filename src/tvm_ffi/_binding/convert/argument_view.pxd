# SPDX-License-Identifier: Apache-2.0
"""Argument views: native tensors and strings that borrow the memory of a Python object for a call.

1. Packing an argument takes a view from the free list.  The view borrows the Python object until
   the call returns.  For a tensor, the view contains a copy of shape and strides, because the
   callee may change the shape of the array in place.
2. If the callee took no reference to the view, the view returns to the free list after the call.
   Such a call allocates nothing, copies no elements, and changes no Python reference count.
3. If the callee took a reference to the view, the view takes a reference to the Python object
   before the call returns.  Releasing the last native reference, on any thread, frees the view.

Threads: the free list is used only with the GIL held.  The design is in
docs/design/argument-views.md.
"""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from tvm_ffi._binding cimport abi

cdef enum:
    MAX_INLINE_NDIM = 8  # views of tensors with more dimensions allocate their extents

cdef extern from *:
    """
    #include <tvm/ffi/c_api.h>

    /* Maximum length of the free list.  It is 0 on free-threaded Python, where synchronizing
     * threads on the list would cost more than a small allocation. */
    #ifdef Py_GIL_DISABLED
    #define TVM_FFI_MAX_FREE_VIEWS 0
    #else
    #define TVM_FFI_MAX_FREE_VIEWS 64
    #endif

    /* Acquire order: other threads' uses of the view happen before its memory is reused. */
    static inline int tvm_ffi_has_one_reference(TVMFFIObject* arg_view) {
      uint64_t count = __atomic_load_n(&arg_view->combined_ref_count, __ATOMIC_ACQUIRE);
      return count == TVM_FFI_REF_COUNT_INITIAL;
    }
    """
    enum:
        MAX_FREE_VIEWS "TVM_FFI_MAX_FREE_VIEWS"
    # Return True if the view has only the reference of the call that packed it, which means that
    # the callee does not keep the view.
    bint has_one_reference "tvm_ffi_has_one_reference"(abi.TVMFFIObject* arg_view) noexcept


ctypedef struct ArgumentView:
    abi.TVMFFIObject header
    # Content of the native object.  It is this DLTensor in a view of a tensor, and a
    # TVMFFIByteArray at the same offset in a view of a str or bytes; see bytes_of_view.
    abi.DLTensor tensor
    PyObject* owner       # the array, str or bytes; borrowed until the call returns, or owned
    bint owner_is_owned   # True if the view owns a reference to `owner`: the callee keeps the view
    const abi.DLPackExchangeAPI* exchange_api  # exchange API that read `owner`, or NULL
    # Owned array of extents, then strides; NULL if inline_extents is large enough.
    int64_t* heap_extents
    # Next unused view in the free list; undefined while this view is in use.
    ArgumentView* next_free
    int64_t inline_extents[2 * MAX_INLINE_NDIM]  # array of extents, then strides


ctypedef struct ArgumentViewFreeList:
    ArgumentView* first  # the unused views, linked by next_free
    int size             # number of unused views, 0 to MAX_FREE_VIEWS
    # Deleter of all views; every object with this deleter is a view.
    void (*deleter)(void* self, int flags) noexcept


# Return the free list of the process; it is never freed.
cdef ArgumentViewFreeList* view_free_list() noexcept
# Allocate a view and return it, owned by the caller.  Fails: NULL with MemoryError set.
cdef ArgumentView* new_view() noexcept
# Same as `return_view`, but for views that do not return to the free list.
cdef void return_view_slow(ArgumentViewFreeList* free_list, ArgumentView* arg_view) noexcept
# Allocate the array `heap_extents` of a view for `ndim` extents and `ndim` strides, and return it.
# The array is borrowed from the view.
# Fails: NULL with MemoryError set.
cdef int64_t* allocate_heap_extents(ArgumentView* arg_view, int ndim) noexcept


cdef inline ArgumentView* take_view(
    ArgumentViewFreeList* free_list, int type_index, PyObject* owner
) noexcept:
    """Return an owned view of `owner`; the caller then fills `tensor` or the byte array.

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
    """Release a view after the call, or after packing failed.  Consumes the view."""
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
    """Return the byte array in the view of a str or bytes, borrowed from the view."""
    return <abi.TVMFFIByteArray*>&arg_view.tensor


cdef inline ArgumentView* as_argument_view(
    ArgumentViewFreeList* free_list, abi.TVMFFIObjectHandle handle
) noexcept:
    """Return the native object as an argument view, borrowed; NULL if it is not a view."""
    if (<abi.TVMFFIObject*>handle).deleter == free_list.deleter:
        return <ArgumentView*>handle
    return NULL
