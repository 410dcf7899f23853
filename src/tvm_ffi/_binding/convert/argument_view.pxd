# SPDX-License-Identifier: Apache-2.0
"""Loans: native tensors and strings that borrow a Python object's memory while a call lasts.

1. Packing an argument takes a loan from a pool.  It borrows the object, and for a tensor has a copy
   of shape and strides: the array may get another shape in place while the call lasts.
2. When the call is over and nobody else holds the loan, it goes back to the pool: no allocation,
   no copy, no reference count of the Python object was touched.
3. When the callee has kept a reference, the loan is made to stand alone before the call returns:
   it takes a reference to the Python object.  Its last reference then frees it, on whatever thread
   that happens.

A pool belongs to the interpreter's lock: it is used with the GIL held.
"""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from tvm_ffi._binding cimport abi

cdef enum:
    MAX_INLINE_NDIM = 8

cdef extern from *:
    """
    #include <tvm/ffi/c_api.h>

    /* Where Python runs without the GIL loans are not pooled: threads would have to agree on who
     * takes one, which costs more than a small allocation. */
    #ifdef Py_GIL_DISABLED
    #define TVM_FFI_MAX_FREE_VIEWS 0
    #else
    #define TVM_FFI_MAX_FREE_VIEWS 64
    #endif

    /* Acquires: what other threads did with the loan comes before what is done with its memory. */
    static inline int tvm_ffi_is_returned(TVMFFIObject* arg_view) {
      uint64_t count = __atomic_load_n(&arg_view->combined_ref_count, __ATOMIC_ACQUIRE);
      return count == TVM_FFI_REF_COUNT_INITIAL;
    }
    """
    enum:
        MAX_FREE_VIEWS "TVM_FFI_MAX_FREE_VIEWS"
    # Whether nobody but its lender has a reference.
    bint is_returned "tvm_ffi_is_returned"(abi.TVMFFIObject* arg_view) noexcept


ctypedef struct ArgumentView:
    abi.TVMFFIObject header
    # What native code sees behind the header: a tensor's description, or the bytes of a string
    # (see bytes_of_view).
    abi.DLTensor tensor
    PyObject* owner  # the array, str or bytes; borrowed until owns_owner
    bint owns_owner
    bint is_read_only
    const abi.DLPackExchangeAPI* exchange_api  # table the owner was read with; NULL: none
    int64_t* heap_extents                       # owned; for more dimensions than fit inline
    ArgumentView* next_free
    int64_t inline_extents[2 * MAX_INLINE_NDIM]  # shape, then strides


ctypedef struct ArgumentViewFreeList:
    ArgumentView* first
    int size
    void (*deleter)(void* self, int flags) noexcept  # what tells a loan from other objects


cdef ArgumentViewFreeList* view_free_list() noexcept
cdef ArgumentView* new_view() noexcept  # NULL with MemoryError set
cdef void finish_view(ArgumentViewFreeList* free_list, ArgumentView* arg_view) noexcept
# Room for `ndim` extents and as many strides, owned by the loan.  NULL with MemoryError set.
cdef int64_t* heap_extents_of(ArgumentView* arg_view, int ndim) noexcept


cdef inline ArgumentView* take_view(
    ArgumentViewFreeList* free_list, int type_index, PyObject* owner
) noexcept:
    """A loan whose description is for the caller to fill.  NULL with MemoryError set."""
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
    """End the loan's part in a call, or undo take_view."""
    if (
        is_returned(&arg_view.header)
        and arg_view.heap_extents == NULL
        and not arg_view.owns_owner
        and free_list.size < MAX_FREE_VIEWS
    ):
        arg_view.exchange_api = NULL
        arg_view.next_free = free_list.first
        free_list.first = arg_view
        free_list.size += 1
    else:
        finish_view(free_list, arg_view)


cdef inline int64_t* extents_of(ArgumentView* arg_view, int ndim) noexcept:
    if ndim <= MAX_INLINE_NDIM:
        return &arg_view.inline_extents[0]
    return heap_extents_of(arg_view, ndim)


cdef inline abi.TVMFFIByteArray* bytes_of_view(ArgumentView* arg_view) noexcept:
    """The byte array of a string: it stands where a tensor has its description."""
    return <abi.TVMFFIByteArray*>&arg_view.tensor


cdef inline ArgumentView* as_argument_view(
    ArgumentViewFreeList* free_list, abi.TVMFFIObjectHandle handle
) noexcept:
    """The loan behind a handle; NULL when another library or function made the object."""
    if (<abi.TVMFFIObject*>handle).deleter == free_list.deleter:
        return <ArgumentView*>handle
    return NULL
