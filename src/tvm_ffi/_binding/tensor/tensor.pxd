# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport CObject, HandleOwner


cdef class Tensor(CObject):
    pass  # no field of its own: wrappers of one size come from one free list


# A tensor that a caller lends to a callback: it has no handle, only a description.
cdef class BorrowedTensor(Tensor):
    cdef abi.DLTensor* dltensor  # NULL once the callback has returned
    # What other libraries hold while they look at the memory.  None: nobody has asked.
    cdef HandleOwner scoped


# Takes the handle over.
cdef Tensor wrap_tensor(abi.TVMFFIObjectHandle owned)
cdef BorrowedTensor borrow_tensor(abi.DLTensor* dltensor)
# What exports of the tensor share; borrowed.
cdef abi.TVMFFIObjectHandle exported_handle(Tensor tensor) except NULL
# End the loan: from here on the tensor is empty.  Whether views of other libraries are still alive.
cdef bint end_borrowed_tensor(BorrowedTensor tensor) noexcept
# Whether they are still alive now; they are forgotten when they are not.
cdef bint has_views(BorrowedTensor tensor) noexcept
