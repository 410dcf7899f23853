# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# What is registered about a type; ValueError for an index that none has, where the C ABI would end
# the process.
cdef const abi.TVMFFITypeInfo* registered_type(int32_t index) except NULL
