# SPDX-License-Identifier: Apache-2.0
# Dtypes.
from tvm_ffi._binding cimport abi


cdef class DataType:
    cdef abi.DLDataType cdtype


# Return a new DataType, which no other code refers to or can change.
cdef DataType data_type_of(abi.DLDataType cdtype)
# Return the public dtype object, one per (code, bits, lanes).  Fails: the exceptions of its class.
cdef object dtype_of(abi.DLDataType cdtype)
