# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject, visitproc

from tvm_ffi._binding cimport abi

# Whether a native object, or NULL, is one that owns Python values: a callable, an opaque object.
cdef bint owns_python_values(abi.TVMFFIObjectHandle handle) noexcept
# Report to the collector what such an object owns.
cdef int visit_values_of(abi.TVMFFIObjectHandle handle, visitproc visit, void* arg) noexcept
# The same of any native object, or NULL, of which one reference is left: that of who reports it.
cdef int visit_as_only_owner(abi.TVMFFIObjectHandle handle, visitproc visit, void* arg) noexcept
