# SPDX-License-Identifier: Apache-2.0
# The class `Tensor`, and the class of tensors that callbacks borrow from their native callers.
from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport CObject, HandleOwner


cdef class Tensor(CObject):
    pass  # the class has no fields, so that its instances can use the free list of wrappers


# A tensor that a callback receives as `DLTensor*`.  It has no native object: `chandle` is NULL.
cdef class BorrowedTensor(Tensor):
    cdef abi.DLTensor* dltensor  # borrowed until the callback returns, then NULL
    cdef bint is_read_only       # the memory must not be written: it is an operand of a host
    # Owner of the scoped tensor (an object over the borrowed memory) to which all exports refer.
    # None: the tensor was not exported.
    cdef HandleOwner scoped_owner


# Return a new `Tensor`, or an instance of the class that `set_tensor_class` has set.  Consumes
# `owned`, also on failure.
cdef Tensor wrap_tensor(abi.TVMFFIObjectHandle owned)
# Return a new borrowed tensor.  `dltensor` is borrowed until `end_borrowed_tensor`.
# Fails: MemoryError.
cdef BorrowedTensor borrow_tensor(abi.DLTensor* dltensor)
# Return the handle to export: the handle of the tensor, or of the scoped tensor of a borrowed
# tensor.  The handle is borrowed until Python code runs, because Python code may empty the wrapper
# (move the native object out of it).
# Fails: ValueError for an empty tensor, MemoryError.
cdef abi.TVMFFIObjectHandle exported_handle(Tensor tensor) except NULL
# Empty a borrowed tensor: set its `dltensor` to NULL.  Return True if exports of the tensor are
# still alive.  Fails: never.
cdef bint end_borrowed_tensor(BorrowedTensor tensor) noexcept
# Return True if exports of a borrowed tensor are still alive; otherwise release its scoped tensor
# and return False.  Fails: never.
cdef bint has_views(BorrowedTensor tensor) noexcept
