# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport _abi

# An owned native function that calls the Python callable.
cdef int new_callback(object function, _abi.TVMFFIObjectHandle* out) except -1
