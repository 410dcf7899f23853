# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport _abi


cdef class DataType:
    cdef _abi.DLDataType cdtype


# The public dtype object of a value type; one per (code, bits, lanes).
cdef object dtype_of(_abi.DLDataType cdtype)
