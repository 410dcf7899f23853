# SPDX-License-Identifier: Apache-2.0
# Devices.
from tvm_ffi._binding cimport abi


cdef class Device:
    cdef abi.DLDevice cdevice


# Return a new device of the public class.  Fails: the exceptions of that class.
cdef object device_of(abi.DLDevice cdevice)
