# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi


cdef class Device:
    cdef abi.DLDevice cdevice


cdef object device_of(abi.DLDevice cdevice)
