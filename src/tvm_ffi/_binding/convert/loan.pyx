# SPDX-License-Identifier: Apache-2.0
"""The pool of loans, and what becomes of a loan that outlives its call; see `convert/loan.pxd`."""

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object.gate cimport own_python_object, release_python_object
from tvm_ffi._binding.object.release cimport add_harmless_type

cdef extern from "Python.h":
    PyObject* PyErr_NoMemory() noexcept

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


cdef void _own_extents(Loan* loan) noexcept:
    """Replace shape and strides that belong to the array by copies."""
    cdef int ndim = loan.tensor.ndim
    cdef size_t size_bytes = <size_t>ndim * sizeof(int64_t)
    cdef int64_t* extents
    if ndim == 0 or loan.tensor.shape == loan.inline_extents \
            or loan.tensor.shape == loan.heap_extents:
        return
    extents = loan.heap_extents if loan.heap_extents != NULL else extents_of(loan, ndim)
    if extents == NULL:
        return  # out of memory: the array's own are right as long as nobody reshapes it in place
    memcpy(extents, loan.tensor.shape, size_bytes)
    if loan.tensor.strides != extents + ndim:  # strides that were computed are in place already
        memcpy(extents + ndim, loan.tensor.strides, size_bytes)
    # A reader on another thread that has just fetched the old addresses still sees the same
    # numbers there: the loan owns the array by now.
    loan.tensor.shape = extents
    loan.tensor.strides = extents + ndim


cdef void settle_loan(LoanPool* pool, Loan* loan) noexcept:
    """The uncommon ends of a loan: kept by the callee, many dimensions, full pool."""
    if loan.header.combined_ref_count != abi.TVM_FFI_REF_COUNT_INITIAL and not loan.owns_owner:
        own_python_object(<object>loan.owner)
        loan.owns_owner = True
        if loan.header.type_index == abi.kTVMFFITensor:
            _own_extents(loan)
    abi.TVMFFIObjectDecRef(&loan.header)


cdef bint _is_loan(abi.TVMFFIObject* object) noexcept:
    return object.deleter == _delete_loan


_pool.deleter = _delete_loan
add_harmless_type(abi.kTVMFFITensor, _is_loan)
