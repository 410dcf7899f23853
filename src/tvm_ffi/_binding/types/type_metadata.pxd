# SPDX-License-Identifier: Apache-2.0
# Checked lookup in the type table.
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Return the description (TVMFFITypeInfo) of a type in the type table; it is never freed.  Fails:
# ValueError for an unknown type index, for which TVMFFIGetTypeInfo itself would end the process.
cdef const abi.TVMFFITypeInfo* registered_type(int32_t index) except NULL
