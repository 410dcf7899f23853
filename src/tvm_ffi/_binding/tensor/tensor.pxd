# SPDX-License-Identifier: Apache-2.0
# The class `Tensor`, and tensors that callbacks borrow from their callers.
from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport CObject, HandleOwner


cdef class Tensor(CObject):
    pass  # without fields, so that it shares the free list of wrappers


# A tensor that a callback receives as `DLTensor*`: it has no handle.
cdef class BorrowedTensor(Tensor):
    cdef abi.DLTensor* dltensor  # borrowed until the callback returns, then NULL
    # Owner of the scoped tensor that all exports share.  None: not exported.
    cdef HandleOwner scoped_owner


# Return a new wrapper.  Consumes the handle, also on failure.
cdef Tensor wrap_tensor(abi.TVMFFIObjectHandle owned)
# Return a new tensor; `dltensor` is borrowed until `end_borrowed_tensor`.  Fails: MemoryError.
cdef BorrowedTensor borrow_tensor(abi.DLTensor* dltensor)
# Return the handle to export; borrowed until Python code runs, which may empty the wrapper.
# Fails: ValueError for an empty tensor, MemoryError.
cdef abi.TVMFFIObjectHandle exported_handle(Tensor tensor) except NULL
# Empty the tensor.  Return True if exports of it are still alive.  Fails: never.
cdef bint end_borrowed_tensor(BorrowedTensor tensor) noexcept
# Return True if exports of the tensor are alive, else release the scoped tensor.  Fails: never.
cdef bint has_views(BorrowedTensor tensor) noexcept
