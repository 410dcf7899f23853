# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi

# Handles below are those of tensors, borrowed.

# What ``__dlpack__`` returns for these arguments, as the interpreter passes them to C functions.
cdef object export_as_asked(
    abi.TVMFFIObjectHandle tensor, PyObject* const* args, Py_ssize_t num_args, PyObject* names)
cdef object new_legacy_capsule(abi.TVMFFIObjectHandle tensor)
cdef object new_versioned_capsule(abi.TVMFFIObjectHandle tensor)
# Whether the owner of the memory forbids writing to it.
cdef bint forbids_writing(abi.TVMFFIObjectHandle tensor) except -1
