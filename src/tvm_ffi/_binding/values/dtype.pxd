# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi


cdef class DataType:
    cdef abi.DLDataType cdtype


# The same as a value that nobody else has, whatever others make of the public one.
cdef DataType data_type_of(abi.DLDataType cdtype)
# The public dtype object of a value type; one per (code, bits, lanes).
cdef object dtype_of(abi.DLDataType cdtype)
