# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._object cimport CObject


cdef class Tensor(CObject):
    pass  # no field of its own: wrappers of one size come from one free list


# A tensor that a caller lends to a callback: it has no handle, only a description.
cdef class LentTensor(Tensor):
    cdef _abi.DLTensor* dltensor  # NULL once the callback has returned


# Takes the handle over.
cdef Tensor wrap_tensor(_abi.TVMFFIObjectHandle owned)
cdef LentTensor lend_tensor(_abi.DLTensor* dltensor)
