# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object.object cimport CObject


cdef class Tensor(CObject):
    pass  # no field of its own: wrappers of one size come from one free list


# A tensor that a caller lends to a callback: it has no handle, only a description.
cdef class LentTensor(Tensor):
    cdef abi.DLTensor* dltensor  # NULL once the callback has returned


# Takes the handle over.
cdef Tensor wrap_tensor(abi.TVMFFIObjectHandle owned)
cdef LentTensor lend_tensor(abi.DLTensor* dltensor)
