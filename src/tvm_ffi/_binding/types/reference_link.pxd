# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.object cimport LinkedObject

# Update the reference link of a wrapper from the given fields of its object.  No other thread may
# write the fields during the call.
# Fails: TypeError for a getter that is not of a reference field of this type; MemoryError.
cdef int link_python_values(LinkedObject owner, tuple getters) except -1
