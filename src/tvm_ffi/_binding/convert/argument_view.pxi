# SPDX-License-Identifier: Apache-2.0
"""The pool of loans, and what becomes of a loan that outlives its call; see `convert/loan.pxd`."""

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport PyErr_NoMemory
from tvm_ffi._binding.object cimport add_harmless_type, own_python_object, release_python_object

cdef LoanPool _pool


cdef void _delete_loan(void* self, int flags) noexcept nogil:
    cdef Loan* loan = <Loan*>self
    if flags & abi.kTVMFFIObjectDeleterFlagBitMaskStrong:
        free(loan.heap_extents)
        if loan.owns_owner:
            release_python_object(loan.owner)
    if flags & abi.kTVMFFIObjectDeleterFlagBitMaskWeak:
        free(loan)


cdef LoanPool* loan_pool() noexcept:
    return &_pool


cdef Loan* new_loan() noexcept:
    cdef Loan* loan = <Loan*>malloc(sizeof(Loan))
    if loan == NULL:
        PyErr_NoMemory()
        return NULL
    loan.header.combined_ref_count = abi.TVM_FFI_REF_COUNT_INITIAL
    loan.header.__padding = 0
    loan.header.deleter = _delete_loan
    loan.owns_owner = False
    loan.is_read_only = False
    loan.exchange_api = NULL
    loan.heap_extents = NULL
    return loan


cdef int64_t* heap_extents_of(Loan* loan, int ndim) noexcept:
    free(loan.heap_extents)
    loan.heap_extents = <int64_t*>malloc(2 * <size_t>ndim * sizeof(int64_t))
    if loan.heap_extents == NULL:
        PyErr_NoMemory()
    return loan.heap_extents


cdef void settle_loan(LoanPool* pool, Loan* loan) noexcept:
    """The uncommon ends of a loan: kept by the callee, many dimensions, full pool."""
    if not is_back(&loan.header) and not loan.owns_owner:
        own_python_object(<object>loan.owner)
        loan.owns_owner = True
    abi.TVMFFIObjectDecRef(&loan.header)


cdef bint _is_loan(abi.TVMFFIObject* object) noexcept:
    return object.deleter == _delete_loan


_pool.deleter = _delete_loan
add_harmless_type(abi.kTVMFFITensor, _is_loan)
