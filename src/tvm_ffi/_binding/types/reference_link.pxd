# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.object cimport LinkedObject

# Look at these fields of an object, which may hold Python values; no one else writes them now.
cdef int link_python_values(LinkedObject owner, tuple getters) except -1
