# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport _abi


cdef class Device:
    cdef _abi.DLDevice cdevice


cdef object device_of(_abi.DLDevice cdevice)
