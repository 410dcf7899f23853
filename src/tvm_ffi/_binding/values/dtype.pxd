# SPDX-License-Identifier: Apache-2.0
# The class `DataType`: type code, bits and lanes of a dtype.
from tvm_ffi._binding cimport abi


cdef class DataType:
    cdef abi.DLDataType cdtype


# Return a new DataType.  Only the caller has a reference to it, so no other code can change it.
cdef DataType data_type_of(abi.DLDataType cdtype)
# Return the `tvm_ffi.dtype` of a native dtype.  There is one object per (code, bits, lanes).
# Fails: the exceptions of its class.
cdef object dtype_of(abi.DLDataType cdtype)
