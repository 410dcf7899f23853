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
    #define TVM_FFI_MAX_POOLED_LOANS 0
    #else
    #define TVM_FFI_MAX_POOLED_LOANS 64
    #endif

    /* Acquires: what other threads did with the loan comes before what is done with its memory. */
    static inline int tvm_ffi_is_back(TVMFFIObject* loan) {
      uint64_t count = __atomic_load_n(&loan->combined_ref_count, __ATOMIC_ACQUIRE);
      return count == TVM_FFI_REF_COUNT_INITIAL;
    }
    """
    enum:
        MAX_POOLED_LOANS "TVM_FFI_MAX_POOLED_LOANS"
    # Whether nobody but its lender has a reference.
    bint is_back "tvm_ffi_is_back"(abi.TVMFFIObject* loan) noexcept


ctypedef struct Loan:
    abi.TVMFFIObject header
    # What native code sees behind the header: a tensor's description, or the bytes of a string
    # (see text_of_loan).
    abi.DLTensor tensor
    PyObject* owner  # the array, str or bytes; borrowed until owns_owner
    bint owns_owner
    bint is_read_only
    const abi.DLPackExchangeAPI* exchange_api  # table the owner was read with; NULL: none
    int64_t* heap_extents                       # owned; for more dimensions than fit inline
    Loan* next_in_pool
    int64_t inline_extents[2 * MAX_INLINE_NDIM]  # shape, then strides


ctypedef struct LoanPool:
    Loan* first
    int size
    void (*deleter)(void* self, int flags) noexcept  # what tells a loan from other objects


cdef LoanPool* loan_pool() noexcept
cdef Loan* new_loan() noexcept  # NULL with MemoryError set
cdef void settle_loan(LoanPool* pool, Loan* loan) noexcept
# Room for `ndim` extents and as many strides, owned by the loan.  NULL with MemoryError set.
cdef int64_t* heap_extents_of(Loan* loan, int ndim) noexcept


cdef inline Loan* take_loan(LoanPool* pool, int type_index, PyObject* owner) noexcept:
    """A loan whose description is for the caller to fill.  NULL with MemoryError set."""
    cdef Loan* loan = pool.first
    if loan != NULL:
        pool.first = loan.next_in_pool
        pool.size -= 1
    else:
        loan = new_loan()
        if loan == NULL:
            return NULL
    loan.header.type_index = type_index
    loan.owner = owner
    return loan


cdef inline void return_loan(LoanPool* pool, Loan* loan) noexcept:
    """End the loan's part in a call, or undo take_loan."""
    if (
        is_back(&loan.header)
        and loan.heap_extents == NULL
        and not loan.owns_owner
        and pool.size < MAX_POOLED_LOANS
    ):
        loan.exchange_api = NULL
        loan.next_in_pool = pool.first
        pool.first = loan
        pool.size += 1
    else:
        settle_loan(pool, loan)


cdef inline int64_t* extents_of(Loan* loan, int ndim) noexcept:
    if ndim <= MAX_INLINE_NDIM:
        return &loan.inline_extents[0]
    return heap_extents_of(loan, ndim)


cdef inline abi.TVMFFIByteArray* text_of_loan(Loan* loan) noexcept:
    """The byte array of a string: it stands where a tensor has its description."""
    return <abi.TVMFFIByteArray*>&loan.tensor


cdef inline Loan* as_loan(LoanPool* pool, abi.TVMFFIObjectHandle handle) noexcept:
    """The loan behind a handle; NULL when another library or function made the object."""
    if (<abi.TVMFFIObject*>handle).deleter == pool.deleter:
        return <Loan*>handle
    return NULL
