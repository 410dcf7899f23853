# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object.object cimport CObject


cdef class CContainerBase(CObject):
    # Of the framework whose tensors came in with the container's elements; tensors that are read
    # from it come back as that framework's.
    cdef const abi.DLPackExchangeAPI* exchange_api
