# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._object cimport CObject


cdef class CContainerBase(CObject):
    # Of the framework whose tensors came in with the container's elements; tensors that are read
    # from it come back as that framework's.
    cdef const _abi.DLPackExchangeAPI* exchange_api
