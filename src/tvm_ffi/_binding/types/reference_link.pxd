# SPDX-License-Identifier: Apache-2.0
# Reference links: garbage collection of Python values in fields; see reference_link.pxi.
from tvm_ffi._binding.object cimport LinkedObject

# Update the reference link of a wrapper (references to the Python values in its fields, for the
# garbage collector) from the fields that the getters read.  No other thread may write these fields
# during the call.
# Fails: TypeError if a field cannot hold an object or belongs to another type; MemoryError.
cdef int link_python_values(LinkedObject owner, tuple getters) except -1
