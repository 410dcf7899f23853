# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Return the type table's entry for a type; never freed.  Fails: ValueError for an unknown index,
# for which the C function ends the process.
cdef const abi.TVMFFITypeInfo* registered_type(int32_t index) except NULL
