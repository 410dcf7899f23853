# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject, visitproc

from tvm_ffi._binding cimport abi

# Garbage collection of Python values that native objects own.

# Return True if a native object owns Python values.  Such objects are callbacks, opaque objects and
# errors that were created from Python exceptions.  `handle` may be NULL.
cdef bint owns_python_values(abi.TVMFFIObjectHandle handle) noexcept
# Visit the Python values that a native object owns; do nothing if it owns none.
cdef int visit_values_of(abi.TVMFFIObjectHandle handle, visitproc visit, void* arg) noexcept
# Same as `visit_values_of`, but do nothing if the caller does not own the only reference to the
# object.  `handle` may be NULL.
cdef int visit_as_only_owner(abi.TVMFFIObjectHandle handle, visitproc visit, void* arg) noexcept
