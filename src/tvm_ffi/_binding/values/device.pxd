# SPDX-License-Identifier: Apache-2.0
# The class `Device`: device type and index.
from tvm_ffi._binding cimport abi


cdef class Device:
    cdef abi.DLDevice cdevice


# Return a new instance of the class that `set_device_class` has set.  Fails: the exceptions of its
# `__new__`.
cdef object device_of(abi.DLDevice cdevice)
